/** Files as source and sink (spec/connectors.md 9.6, 10.5). */
import type { ConnectorDefinition } from '../contract.ts'
import { text } from '../properties.ts'
import { fileSinkOptions, fileSourceOptions } from './options.ts'
import { createFileSink } from './sink.ts'
import { createFileSource } from './source.ts'

export const file: ConnectorDefinition = {
  name: 'file',
  source: {
    name: 'file',
    docs: 'Reads a file, or every file of a directory and the new ones as they come. DATASOURCE is the name under `path`. meta(file) is the full path. csv gives rows of text, other types go through FORMAT.',
    emits: 'bytes',
    pausable: true,
    bounded: true,
    options: fileSourceOptions,
    create: createFileSource,
  },
  sink: {
    name: 'file',
    docs: 'Writes results to a file, or to one file per rendered path, and starts new files by count, size or time.',
    takes: 'bytes',
    packs: true,
    acceptsLines: (properties) => (text(properties, 'fileType') ?? 'lines') === 'lines',
    options: fileSinkOptions,
    create: createFileSink,
  },
}
