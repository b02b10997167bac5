/** Properties of the file connector (spec/connectors.md 9.6, 10.5). */
import type { OptionSpecs } from '../../core/options.ts'

export const fileSourceOptions: OptionSpecs = {
  fileType: {
    type: 'string',
    default: 'json',
    docs: 'json: the whole file is one document, an array gives a row per element. lines: one document a line. csv: one row a record. Anything else: the whole file goes to the format.',
  },
  path: { type: 'string', docs: 'Directory of the files, relative to the installation directory.' },
  interval: {
    type: 'duration',
    default: 0,
    minimum: 0,
    docs: 'Time between two readings. 0 reads a file once; a directory is then watched.',
  },
  sendInterval: { type: 'duration', default: 0, minimum: 0, docs: 'Pause between two rows.' },
  actionAfterRead: {
    type: 'int',
    default: 0,
    docs: 'What to do with a file whose rows were accepted: 0 keep, 1 delete, 2 move.',
  },
  moveTo: { type: 'string', docs: 'Directory for files that were read (actionAfterRead 2); made when missing.' },
  ignoreStartLines: { type: 'int', default: 0, docs: 'Lines to leave out at the start of each file (csv and lines).' },
  ignoreEndLines: { type: 'int', default: 0, docs: 'Lines to leave out at the end of each file (csv and lines).' },
  hasHeader: { type: 'bool', default: false, docs: 'The first record of a csv file names the columns.' },
  columns: { type: 'list', element: 'string', docs: 'Column names of a csv file without header.' },
  delimiter: { type: 'string', default: ',', docs: 'Column separator of a csv file, one character.' },
  decompression: {
    type: 'string',
    docs: 'How whole-file types are compressed: gzip, zlib, flate or zstd. Files named .gz, .zz or .zst are opened without it.',
  },
  format: { type: 'string', docs: 'Format of the stream (from the option FORMAT).' },
  maxFileSize: {
    type: 'size',
    default: 256 * 1024 * 1024,
    minimum: 1,
    docs: 'Largest file that is read as one document. Large json arrays are read in pieces and may be longer.',
  },
  maxLineSize: {
    type: 'size',
    default: 16 * 1024 * 1024,
    minimum: 1024,
    docs: 'Longest line or csv record. A longer line is skipped and counted as lost.',
  },
  parallel: { type: 'bool', default: false, docs: 'Accepted for compatibility; files are read one after the other.' },
}

export const fileSinkOptions: OptionSpecs = {
  path: {
    type: 'string',
    default: 'cache',
    dynamic: true,
    docs: 'File to write; may be a template, then each path is a file.',
  },
  fileType: {
    type: 'string',
    default: 'lines',
    docs: 'lines: one result a line. json: one array of all results. csv: one record a line, for format delimited.',
  },
  format: { type: 'string', default: 'json', docs: 'Format of the results; delimited for csv.' },
  hasHeader: { type: 'bool', default: false, docs: 'Write the column names at the top of each csv file.' },
  delimiter: { type: 'string', default: ',', docs: 'Column separator of csv.' },
  fields: { type: 'list', element: 'string', docs: 'Columns to write, in order.' },
  rollingInterval: {
    type: 'duration',
    docs: 'Start a new file after this time (looked at every checkInterval).',
  },
  rollingCount: {
    type: 'int',
    docs: 'Start a new file after this many results; 0 = no such limit. Default 1,000,000 with a rollingNamePattern, else none.',
  },
  rollingSize: {
    type: 'size',
    docs: 'Start a new file at this size before compression; 0 = no such limit.',
  },
  checkInterval: { type: 'duration', default: 300_000, docs: 'How often the age of files is looked at.' },
  rollingNamePattern: {
    type: 'string',
    default: '',
    docs: 'Where the time (ms) goes in file names: prefix, suffix, or none. With none a new file replaces the old one, so files roll only when rollingInterval, rollingCount or rollingSize is given.',
  },
  rollingHook: { type: 'string', docs: 'Hook called with each finished file. None is built in.' },
  rollingHookProps: { type: 'map', docs: 'Properties of the hook.' },
  compression: { type: 'string', default: '', docs: 'Compress the files: gzip or zstd.' },
  encryption: { type: 'string', default: '', docs: 'Encrypt the files: aes (basic.aesKey).' },
  flushInterval: {
    type: 'duration',
    default: 1000,
    minimum: 0,
    docs: 'Results are on their way to the disk after this time at the latest; 0 = at once.',
  },
  maxOpenFiles: { type: 'int', default: 500, minimum: 1, docs: 'Most files open at once with a templated path.' },
}
