// What a collector that is away costs: the spans, one line of the log, and nothing else. What it gets when it is there
// is in test/watching.

import { deepEqual, equal } from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { portOf } from "../../test/support/port-of.ts";
import type { FinishedSpan } from "../ports.ts";
import { createRandom } from "./random.ts";
import { createOtlpTracer } from "./tracer.ts";

const SETTING = {
	headers: {},
	resource: { "service.name": "ringback" },
	sampling: { sampler: "always_on", ratio: 1 },
} as const;
const SPAN: Omit<FinishedSpan, "context"> = {
	parentSpanId: null,
	name: "a span",
	kind: "internal",
	startMs: 0,
	endMs: 1,
	attributes: {},
};

test("spans that nobody takes are dropped, and the log says so once", async () => {
	let asked = 0;
	const server = createServer((incoming, outgoing) => {
		asked++;
		incoming.resume();
		outgoing.writeHead(503).end();
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const endpoint = `http://127.0.0.1:${portOf(server)}/v1/traces`;
	const log = createLog();
	const scope = { name: "ringback", version: "1.2.3" };
	const tracer = createOtlpTracer({ ...SETTING, endpoint }, { random: createRandom(), log, scope });
	for (let count = 0; count < 10_000; count++) {
		const context = tracer.begin(null);
		if (context !== null) tracer.end({ ...SPAN, context });
	}
	await tracer.stop();
	await new Promise((resolve) => server.close(resolve));
	equal(asked > 0 && asked < 5, true, `asked ${asked} times`);
	deepEqual(
		log.lines.map(({ level, message }) => [level, /could not be sent/.test(message)]),
		[["warn", true]],
	);
});
