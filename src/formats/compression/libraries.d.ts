/** The parts used of libraries without types of their own. */
declare module 'zstd-codec' {
  interface Simple {
    compress(bytes: Uint8Array, level: number): Uint8Array | null
  }
  const library: { ZstdCodec: { run(ready: (zstd: { Simple: new () => Simple }) => void): void } }
  export default library
}

declare module 'lz4js' {
  const library: { compress(bytes: Uint8Array): Uint8Array }
  export default library
}

declare module 'snappyjs' {
  const library: { compress(bytes: Uint8Array): Uint8Array }
  export default library
}
