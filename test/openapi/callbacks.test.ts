// Compares callbacks of the real engine and events of the real stream with the strict form of the document.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { describeApi } from "#core/api/openapi/document.ts";
import type { Operation } from "#core/api/openapi/specification.ts";
import { EVENT_NAMES } from "#core/domain/event-name.ts";
import { API } from "../../src/site-modules.ts";
import { type ReceivedCallback, readCallback } from "../support/callback-form.ts";
import { addCalledPartner } from "../support/called-partner.ts";
import { setProgramme } from "../support/change-rows.ts";
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

		test("headers and body of every callback to a partner match their webhook, in both forms", async () => {
			const api = strictApi(running);
			const programme = await running.openProgramme();
			await setProgramme(running.service.store.db, programme.id, { credits_partners: 1 });
			const [writer, tracker] = [
				await addCalledPartner(running, programme),
				await addCalledPartner(running, programme),
			];
			await writer.saveUrl("/hook");
			await tracker.saveUrl("/hook?id={conversionId}&event={event}&test={test}", "get");
			for (const partner of [writer, tracker]) {
				await walkThroughAllEvents(programme, partner.code);
				await partner.settled();
				deepEqual(new Set(await partner.events()), new Set(EVENT_NAMES));
				for (const request of partner.server.requests) {
					// A GET has no body.
					const body = request.method === "GET" ? Buffer.from("null") : request.body;
					const callback = readCallback({ ...request, body });
					deepEqual(partnerFlaws(api, request.method, callback), [], JSON.stringify(callback.body));
				}
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
	return new DescribedApi(describeApi({ brand: "Acme", publicUrl: service.url }, API));
}

/** Makes six events: two sales, a test, and decisions about them. A coupon code credits its partner with the sales. */
async function walkThroughAllEvents(programme: ShopProgramme, couponCode?: string): Promise<void> {
	const start = couponCode ?? "A";
	const [first, second, third] = [`${start}-1`, `${start}-2`, `${start}-3`];
	const code = couponCode === undefined ? {} : { couponCode };
	await programme.record(first, code);
	await programme.approve(first);
	await programme.reverse(first, "RETURN");
	await programme.record(second, { eventType: "LEAD", test: true, ...code });
	await programme.post("/v1/rejections", { orderId: second, eventType: "LEAD", reason: "INVALID_LEAD" });
	await programme.record(third, { basketValue: "0", ...code });
}

type SentParts = Pick<ReceivedCallback, "headers" | "body">;

function callbackFlaws(api: DescribedApi, event: string, callback: SentParts): string[] {
	const post = api.document.webhooks[event]?.post;
	return post === undefined ? [`${event} is not described`] : requestFlaws(api, post, callback);
}

function partnerFlaws(api: DescribedApi, method: string, callback: SentParts): string[] {
	const { post, get } = api.document.webhooks["partnerCallback"] ?? {};
	const operation = method === "GET" ? get : post;
	return operation === undefined ? [`${method} is not described`] : requestFlaws(api, operation, callback);
}

function requestFlaws(
	api: DescribedApi,
	{ parameters = [], requestBody }: Operation,
	{ headers, body }: SentParts,
): string[] {
	const { schema } = requestBody?.content["application/json"] ?? {};
	const headerFlaws = parameters.flatMap(({ name, schema: header }) =>
		api.flaws(header, headers.get(name)).map((flaw) => `${name} ${flaw}`),
	);
	return [...headerFlaws, ...(schema === undefined ? [] : api.flaws(schema, body))];
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
