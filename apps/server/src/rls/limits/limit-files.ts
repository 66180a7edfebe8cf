import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readFileText } from '../../config-file/file-text.js'
import type { LimitFileText } from './load-limits.js'

const MAX_FILES = 1000
const MAX_DEPTH = 8

/**
 * Reads files of limits. A folder stands for all files in it and in its folders, with any extension, because a skipped
 * file would be a limit that is not enforced. Names that begin with a dot are skipped: Kubernetes and editors
 * keep their own files under such names.
 */
export function readLimitFiles(paths: readonly string[]): LimitFileText[] {
  const texts: LimitFileText[] = []
  for (const path of paths) {
    const found = isFolder(path) ? textsIn(path) : [{ file: path, text: readFileText(path) }]
    if (found.length === 0)
      texts.push(unreadable(path, 'the folder has no files; put a file with domain and descriptors there'))
    texts.push(...found)
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

/** The folders to watch, and the files in them. */
export function foldersOf(paths: readonly string[]): string[] {
  return paths.flatMap((path) => (isFolder(path) ? [path, ...foldersIn(path, 1)] : []))
}

function textsIn(folder: string, depth = 0): LimitFileText[] {
  if (depth > MAX_DEPTH) return [unreadable(folder, `more than ${MAX_DEPTH} folders inside each other`)]
  const entries = entriesOf(folder)
  if (entries === undefined) return [unreadable(folder, 'the folder cannot be read by this user')]
  return entries.flatMap((path) => {
    if (isFolder(path)) return textsIn(path, depth + 1)
    // Reading a pipe would wait for a writer, and nothing else would be served.
    if (isPipe(path)) return [unreadable(path, 'is not a file; remove it from the folder')]
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

/** Follows symbolic links: a mounted ConfigMap consists of them. */
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
