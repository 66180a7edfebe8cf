import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certificate of the test's own for 127.0.0.1, and what makes a redis-server speak TLS and nothing else. */
export interface Certificate {
  /** What a client must trust. */
  ca: string
  /** Of a server: `--port` becomes its TLS port. */
  argsOf(port: number): string[]
  remove(): void
}

export function makeCertificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  execFileSync(
    'openssl',
    [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
      ...['-keyout', key, '-out', cert],
    ],
    { stdio: 'ignore' },
  )
  return {
    ca: readFileSync(cert, 'utf8'),
    argsOf: (port) => [
      ...['--tls-port', String(port), '--port', '0'],
      ...['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert],
      ...['--tls-auth-clients', 'no', '--tls-replication', 'yes', '--tls-cluster', 'yes'],
    ],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
