/**
 * What a scan is asked for: paths into the rows' objects, one column each. Encoded as the tree of nodes that
 * assembly/scan.ts walks, with absolute addresses: a shape always lies at the start of the kernel's heap.
 */
export interface KernelShape {
  readonly paths: readonly (readonly string[])[]
  /** The encoded nodes, made for the address `base`. */
  readonly image: Uint8Array
}

const HEADER = 16
const SLOTS = 16 * 48
const ENTRY = 16

interface Node {
  readonly entries: Map<string, { column: number; child: Node | null }>
  address: number
}

/** Column i of the scanned batch is `paths[i]`; a path may also be a prefix of another one. Throws on equal paths. */
export function encodeShape(paths: readonly (readonly string[])[], base: number): KernelShape {
  const root = newNode()
  for (const [column, path] of paths.entries()) {
    let node = root
    for (const [i, key] of path.entries()) {
      const entry = node.entries.get(key) ?? { column: -1, child: null }
      node.entries.set(key, entry)
      if (i === path.length - 1) {
        if (entry.column >= 0) throw new RangeError(`path ${path.join('.')} is asked for twice`)
        entry.column = column
      } else node = entry.child ??= newNode()
    }
  }
  const nodes: Node[] = []
  const collect = (node: Node): void => {
    nodes.push(node)
    for (const { child } of node.entries.values()) if (child) collect(child)
  }
  collect(root)

  const names = new Map(nodes.flatMap((n) => [...n.entries.keys()]).map((name) => [name, utf8.encode(name)]))
  let size = 0
  for (const node of nodes) {
    node.address = base + size
    size += HEADER + SLOTS + node.entries.size * ENTRY
  }
  const addresses = new Map<string, number>()
  for (const [name, bytes] of names) {
    addresses.set(name, base + size)
    size += bytes.length
  }
  // slack for vector loads beyond the last name
  const image = new Uint8Array(size + 16)
  const view = new DataView(image.buffer)
  for (const node of nodes) {
    let at = node.address - base
    view.setUint32(at, node.entries.size, true)
    view.setUint32(at + 4, node.address + HEADER + SLOTS, true)
    at += HEADER + SLOTS
    for (const [key, entry] of node.entries) {
      view.setUint32(at, addresses.get(key) as number, true)
      view.setUint32(at + 4, (names.get(key) as Uint8Array).length, true)
      view.setInt32(at + 8, entry.column, true)
      view.setUint32(at + 12, entry.child?.address ?? 0, true)
      at += ENTRY
    }
  }
  for (const [name, bytes] of names) image.set(bytes, (addresses.get(name) as number) - base)
  return { paths, image }
}

const utf8 = new TextEncoder()

function newNode(): Node {
  return { entries: new Map(), address: 0 }
}
