export { type Client, ClientError, type ClientOptions, createClient, type Kind } from './client.ts'
export type * from './wire.ts'
