/** Whether a service serves this page. Without one, the page is the lab alone. */
export const hasService = document.querySelector('meta[name="tidegate-service"]') !== null

const DEFAULT_SERVICE_URL = 'http://127.0.0.1:8080/'

/** The base URL for examples: of the service that serves this page, else of a service with default settings. */
export function serviceUrl(): string {
  return hasService ? new URL('.', location.href).href : DEFAULT_SERVICE_URL
}
