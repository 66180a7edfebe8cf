// NestJS with a guard for every route, and decorators where it should be otherwise. Nest needs
// `experimentalDecorators` and `emitDecoratorMetadata` to be compiled.
//   curl -i http://127.0.0.1:3000/search
import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createLimiter, fixedWindow, tokenBucket } from '@tidegate/core'
import { RateLimit, RateLimitModule, SkipRateLimit } from '@tidegate/http/nest'

const limiter = createLimiter({ policy: tokenBucket({ capacity: 20, refillRate: '20/1m', name: 'client' }) })

@Controller()
class PagesController {
  @Get('/')
  hello(): string {
    return 'hello\n'
  }

  @Get('/search')
  @RateLimit({ policy: fixedWindow({ limit: 3, window: '1d', name: 'search' }) })
  search(): string {
    return 'found\n'
  }

  @Get('/health')
  @SkipRateLimit()
  health(): string {
    return 'well\n'
  }
}

@Module({ imports: [RateLimitModule.forRoot({ limiter })], controllers: [PagesController] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
console.log(await app.getUrl())
