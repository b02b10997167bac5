export async function run(_args: readonly string[], _program: string): Promise<number> {
  return 1
}
