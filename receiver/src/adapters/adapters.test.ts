import assert from "node:assert/strict";
import { test } from "node:test";
import { createReceiver } from "../receiver.ts";
import { sampleSecret } from "../sample-delivery.test-support.ts";
import { createExpressReceiver } from "./express.ts";
import { createFastifyReceiver } from "./fastify.ts";
import { createHonoReceiver } from "./hono.ts";
import { createNextReceiver } from "./next.ts";
import { createNodeReceiver } from "./node.ts";

const options = { secret: sampleSecret, onEvent: () => undefined };

test("an adapter for Node's requests accepts a receiver instead of options, and is its handler", () => {
	const receiver = createReceiver(options);
	assert.equal(createNodeReceiver(receiver), receiver.node);
	assert.equal(createExpressReceiver(receiver), receiver.node);
});

test("an adapter for web requests accepts a receiver instead of options, and passes requests to it", async () => {
	const receiver = createReceiver(options);
	const seen: unknown[][] = [];
	const watched = {
		...receiver,
		fetch: async (...given: Parameters<typeof receiver.fetch>) => {
			seen.push(given);
			return new Response(null, { status: 204 });
		},
	};
	const request = new Request("http://shop.example/postback", { method: "POST" });
	const after = () => undefined;
	const executionCtx = {};
	await createHonoReceiver(watched)({ req: { raw: request }, executionCtx });
	await createNextReceiver({ ...watched, after })(request);
	assert.deepEqual(seen, [
		[request, executionCtx],
		[request, { waitUntil: after }],
	]);
});

test("the plugin for Fastify accepts a receiver's parts beside its url", async () => {
	const receiver = createReceiver(options);
	const urls: string[] = [];
	await createFastifyReceiver({ url: "/postback", ...receiver })({
		removeAllContentTypeParsers: () => undefined,
		addContentTypeParser: () => undefined,
		all: (url) => urls.push(url),
	});
	assert.deepEqual(urls, ["/postback"]);
});

const adapters: [string, (given: never) => unknown][] = [
	["node", createNodeReceiver],
	["Express", createExpressReceiver],
	["Fastify", createFastifyReceiver],
	["Hono", createHonoReceiver],
	["Next.js", createNextReceiver],
];
for (const [name, adapt] of adapters) {
	test(`the adapter for ${name} refuses a receiver together with options, which would have no effect`, () => {
		const both = { ...createReceiver(options), ...options, url: "/postback" };
		assert.throws(() => adapt(both as never), /^TypeError: .*either/);
	});

	test(`the adapter for ${name} checks its options at once`, () => {
		assert.throws(() => adapt({ url: "/postback" } as never), /^TypeError: (?:onEvent|secret) /);
		assert.throws(() => adapt(undefined as never), /^TypeError: .*options/);
	});
}
