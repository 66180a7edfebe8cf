/** Every entry point of the libraries, and what it needs besides them. */
export const ENTRIES: Record<string, readonly string[]> = {
  '@tidegate/core': [],
  '@tidegate/core/testing': [],
  '@tidegate/client': [],
  '@tidegate/redis': [],
  '@tidegate/redis/store-commands': [],
  '@tidegate/http': [],
  '@tidegate/http/express': [],
  '@tidegate/http/fastify': [],
  '@tidegate/http/koa': [],
  '@tidegate/http/node': [],
  '@tidegate/http/fetch': [],
  '@tidegate/http/decorator': [],
  '@tidegate/http/hono': [],
  '@tidegate/http/nest': ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'],
}
