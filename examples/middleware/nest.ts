// NestJS with a guard for every route, and decorators for other limits. Compile it with `experimentalDecorators` and
// `emitDecoratorMetadata`.
//   curl -i http://127.0.0.1:3000/search
import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { RateLimit, RateLimitModule, SkipRateLimit } from '@tidegate/http/nest'

@Controller()
class PagesController {
  @Get('/')
  hello(): string {
    return 'hello\n'
  }

  @Get('/search')
  @RateLimit({ limit: 3, window: '1d' })
  search(): string {
    return 'found\n'
  }

  @Get('/health')
  @SkipRateLimit()
  health(): string {
    return 'ok\n'
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ algorithm: 'token-bucket', capacity: 20, refillRate: '20/1m' })],
  controllers: [PagesController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
console.log(await app.getUrl())
