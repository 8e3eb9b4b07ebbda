import { Option } from 'commander';

/** For the commands that run a troupe for long. The SDK is loaded by whoever starts us, with `node --import`. */
export function telemetryFlag(): Option {
  return new Option(
    '--telemetry',
    'make spans and metrics with the OpenTelemetry SDK that this process was started with',
  );
}
