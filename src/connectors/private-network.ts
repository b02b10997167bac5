/** Refusing outgoing connections into private networks (spec/connectors.md 2.4, `basic.enablePrivateNet`). */
import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { IxionError } from '../core/errors.ts'

const blocked = new BlockList()
for (const [network, prefix, family] of [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['224.0.0.0', 4, 'ipv4'],
  ['::', 128, 'ipv6'],
  ['::1', 128, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
] as const) {
  blocked.addSubnet(network, prefix, family)
}

/** Loopback, private, unspecified, multicast and link-local addresses, also as IPv4 inside IPv6. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return blocked.check(address, 'ipv4')
  if (family !== 6) return false
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  return mapped ? isPrivateAddress(mapped[1] as string) : blocked.check(address, 'ipv6')
}

export function refusePrivate(address: string): void {
  if (isPrivateAddress(address)) {
    throw new IxionError('REFUSED', `ip ${address} is in internal network`, {
      hint: 'Set basic.enablePrivateNet to true to allow it.',
    })
  }
}

/** A `lookup` for sockets that checks what the name resolves to. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) {
      callback(error, '', 0)
      return
    }
    try {
      for (const { address } of addresses) refusePrivate(address)
    } catch (refusal) {
      callback(refusal as NodeJS.ErrnoException, '', 0)
      return
    }
    const first = addresses[0] as { address: string; family: number }
    if (options.all) callback(null, addresses as never)
    else callback(null, first.address, first.family)
  })
}
