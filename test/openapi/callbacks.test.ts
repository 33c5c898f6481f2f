// Compares callbacks of the real engine and events of the real stream with the strict form of the document.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { describeApi } from "../../src/api/openapi/document.ts";
import { EVENT_NAMES } from "../../src/domain/event-name.ts";
import type { ReceivedCallback } from "../support/callback-form.ts";
import { eachService, type RunningService } from "../support/running-service.ts";
import type { ShopProgramme } from "../support/shop-programme.ts";
import { signedRequest } from "../support/signed-request.ts";
import { DescribedApi } from "./described-api.ts";

eachService(
	"callbacks and the stream, as the document describes them",
	(running) => {
		test("headers and body of every callback match its webhook and no other", async () => {
			const api = strictApi(running);
			const programme = await running.openProgramme();
			await walkThroughAllEvents(programme);
			await programme.settled();
			deepEqual(new Set(programme.events), new Set(EVENT_NAMES));
			for (const callback of programme.received) {
				const named = EVENT_NAMES.filter((name) => callbackFlaws(api, name, callback).length === 0);
				const event = String(callback.body.event);
				deepEqual(named, [event], callbackFlaws(api, event, callback).join("; "));
			}
		});

		test("every message of the stream matches its schemas", async () => {
			const api = strictApi(running);
			const programme = await running.openProgramme({ url: null });
			const stream = await openStream(running, programme);
			await walkThroughAllEvents(programme);
			await running.until("the stream has told of everything", () => stream.messages().length >= 7);
			await stream.close();
			const [greeting, ...events] = stream.messages();
			deepEqual(api.flaws(api.schemaNamed("Listening"), greeting?.data), []);
			equal(greeting?.event, "listening");
			deepEqual(new Set(events.map(({ event }) => event)), new Set(EVENT_NAMES));
			for (const { event, data } of events) {
				const { schema = {} } =
					api.document.webhooks[event]?.post.requestBody?.content["application/json"] ?? {};
				ok(schema.$ref !== undefined, event);
				deepEqual(api.flaws(schema, data), []);
				deepEqual(api.flaws(api.schemaNamed("Event"), data), []);
			}
		});
	},
	{ RINGBACK_BRAND: "Acme" },
);

function strictApi({ service }: RunningService): DescribedApi {
	return new DescribedApi(describeApi({ brand: "Acme", publicUrl: service.url }));
}

/** Makes six events: two sales, a test, and decisions about them. */
async function walkThroughAllEvents(programme: ShopProgramme): Promise<void> {
	await programme.record("A-1");
	await programme.approve("A-1");
	await programme.reverse("A-1", "RETURN");
	await programme.record("A-2", { eventType: "LEAD", test: true });
	await programme.post("/v1/rejections", { orderId: "A-2", eventType: "LEAD", reason: "INVALID_LEAD" });
	await programme.record("A-3", { basketValue: "0" });
}

function callbackFlaws(api: DescribedApi, event: string, { headers, body }: ReceivedCallback): string[] {
	const post = api.document.webhooks[event]?.post;
	if (post === undefined) return [`${event} is not described`];
	const { schema = {} } = post.requestBody?.content["application/json"] ?? {};
	const headerFlaws = (post.parameters ?? []).flatMap(({ name, schema: header }) =>
		api.flaws(header, headers.get(name)).map((flaw) => `${name} ${flaw}`),
	);
	return [...headerFlaws, ...api.flaws(schema, body)];
}

interface Message {
	event: string;
	data: unknown;
}

async function openStream(
	{ service, clock, brand }: RunningService,
	programme: ShopProgramme,
): Promise<{ messages(): Message[]; close(): Promise<void> }> {
	const { headers } = signedRequest("GET", "/v1/events", programme, { nowMs: clock.nowMs(), brand });
	const abort = new AbortController();
	const response = await fetch(`${service.url}/v1/events`, { headers, signal: abort.signal });
	equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
	let text = "";
	const reading = (async () => {
		for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
	})().catch((error: unknown) => {
		if (!abort.signal.aborted) throw error;
	});
	return {
		messages: () => text.split("\n\n").slice(0, -1).flatMap(readMessage),
		async close() {
			abort.abort();
			await reading;
		},
	};
}

/** Parses a message. Returns none for heartbeats and cursors, which have no data. */
function readMessage(block: string): Message[] {
	const line = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
	const [event, data] = [line("event"), line("data")];
	return event === undefined || data === undefined ? [] : [{ event, data: JSON.parse(data) }];
}
