/** What the processes of one service tell each other. */
export type ToWorker =
  | { readonly tidegate: 'stop' }
  /** Only one of them says in the log what came of it: they all read the same. */
  | { readonly tidegate: 'reload'; readonly isQuiet: boolean }
  | { readonly tidegate: 'metrics'; readonly id: number; readonly text: string | undefined }

export type ToPrimary =
  | { readonly tidegate: 'ready'; readonly url: string }
  | { readonly tidegate: 'metrics'; readonly id: number }

export function isOurs(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'tidegate' in message
}
