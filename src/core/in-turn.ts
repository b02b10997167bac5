export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

/** Runs what it is given one after another, in order of arrival; one that fails does not stop the next. */
export function inTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
}
