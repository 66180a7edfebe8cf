import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readFileText } from '../../config-file/file-text.js'
import type { LimitFileText } from './load-limits.js'

const MAX_FILES = 1000
const MAX_DEPTH = 8

/**
 * Reads limit files. Of a folder, reads all files in it and its subfolders, with any extension, because limits in a skipped
 * file would not be enforced. Skips names that begin with a dot, which Kubernetes and editors use for their own files.
 */
export function readLimitFiles(paths: readonly string[]): LimitFileText[] {
  const texts: LimitFileText[] = []
  for (const path of paths) {
    const read = isFolder(path) ? textsIn(path) : [{ file: path, text: readFileText(path) }]
    if (read.length === 0)
      texts.push(unreadable(path, 'the folder has no files; add a file with domain and descriptors'))
    texts.push(...read)
  }
  if (texts.length <= MAX_FILES) return texts
  return [
    unreadable(
      paths.join(', '),
      `more than ${MAX_FILES.toLocaleString('en')} files; name a folder that holds only limits`,
    ),
  ]
}

function unreadable(path: string, message: string): LimitFileText {
  return { file: path, text: { path, message } }
}

/** The folders among `paths`, and their subfolders. */
export function foldersOf(paths: readonly string[]): string[] {
  return paths.flatMap((path) => (isFolder(path) ? [path, ...foldersIn(path, 1)] : []))
}

function textsIn(folder: string, depth = 0): LimitFileText[] {
  if (depth > MAX_DEPTH)
    return [unreadable(folder, `folders are nested more than ${MAX_DEPTH} levels deep; move the files up`)]
  const entries = entriesOf(folder)
  if (entries === undefined) return [unreadable(folder, 'the folder cannot be read: permission denied')]
  return entries.flatMap((path) => {
    if (isFolder(path)) return textsIn(path, depth + 1)
    // Reading a pipe would block the process until there is a writer.
    if (isPipe(path)) return [unreadable(path, 'must be a file, but is a pipe; remove it from the folder')]
    return [{ file: path, text: readFileText(path) }]
  })
}

function foldersIn(folder: string, depth: number): string[] {
  if (depth > MAX_DEPTH) return []
  const folders = (entriesOf(folder) ?? []).filter(isFolder)
  return folders.flatMap((path) => [path, ...foldersIn(path, depth + 1)])
}

/** Undefined if the folder cannot be read. */
function entriesOf(folder: string): string[] | undefined {
  try {
    const names = readdirSync(folder).filter((name) => !name.startsWith('.'))
    return names
      .toSorted()
      .slice(0, MAX_FILES + 1)
      .map((name) => join(folder, name))
  } catch {
    return undefined
  }
}

/** Follows symbolic links, because a mounted ConfigMap consists of them. */
function isFolder(path: string): boolean {
  return statsOf(path)?.isDirectory() === true
}

function isPipe(path: string): boolean {
  return statsOf(path)?.isFIFO() === true
}

function statsOf(path: string) {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
