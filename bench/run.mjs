// npm run bench -- NAME [NAME ...]: registers the TypeScript loader and hands over to main.ts.
import { register } from 'tsx/esm/api'

register()
await import('./main.ts')
