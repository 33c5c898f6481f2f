// GET /v1/events sends the programme's events as they happen, as server-sent events, for `ringback listen`.
// The endpoint only reads events and records that somebody listens. It does not affect any delivery.

import * as z from "zod";
import type { LonePlan } from "#core/api/call-plan.ts";
import type { AppDeps } from "#core/api/deps.ts";
import { exampleCallback } from "#core/api/openapi/examples.ts";
import { checkFields, parseQuery } from "#core/api/read-request.ts";
import type { SignedRoute } from "#core/api/route.ts";
import { EXAMPLE_PROGRAM_ID } from "#core/api/sale-fields.ts";
import type { Endpoint, SignedCall } from "#core/api/signed-call.ts";
import { type Cursor, readCursor, writeCursor } from "#core/domain/cursor.ts";
import { type Result, refusalOf, refuse, succeed } from "#core/domain/fault.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { openSecret } from "#core/domain/sealing.ts";
import { canonicalString, sha256Hex, sign, signingKey } from "#core/domain/signature.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import type { MoveStore } from "#core/store/queries/announced-moves.ts";
import { hasReached, startOfFeed } from "#core/store/queries/announced-moves.ts";
import { mayKeyListen } from "#core/store/queries/keys.ts";
import { storeListener, storeListenerEnd } from "#core/store/queries/local-answers.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import { findActiveSecret, isSecretUsable } from "#core/store/queries/signing-secrets.ts";
import { readFeed } from "../use-cases/event-feed.ts";
import { EventStreams, type StreamSource } from "./event-streams.ts";

/**
 * Minimum time between two updates of the time at which a listener was last seen. It is shorter than the time
 * between two heartbeats.
 */
const NOTE_MS = 10 * SECOND_MS;

const EVENTS_QUERY = z.strictObject({
	after: z
		.string()
		.meta({
			description:
				"The `id` of an event that was received before. The stream continues after it, and nothing that happened meanwhile is missing. Without it, the stream starts with the next event.",
			examples: ["q5mYV0Yb3O6kZyXo0l9kVYVnA2fPjX0p6N7Qb2Zr"],
		})
		.optional(),
	test: z
		.string()
		.meta({
			enum: ["true", "false"],
			default: "false",
			description: "`true` for events of test conversions only.",
		})
		.optional(),
});

interface StreamRequest {
	position: Cursor;
	testOnly: boolean;
}

/**
 * Schema of one message of the event stream. OpenAPI 3.1 cannot describe the messages of a stream, so the
 * description of the answer refers to this schema by name.
 */
const LISTENING = z
	.strictObject({
		programId: z
			.string()
			.meta({ description: "The programme whose events are sent.", examples: [EXAMPLE_PROGRAM_ID] }),
		testOnly: z.boolean().describe("True if only events of test conversions are sent."),
		hasPostbackUrl: z
			.boolean()
			.describe("True if a Postback URL is saved. The same events are then sent there as callbacks."),
	})
	.meta({ id: "Listening", description: "The first message of a stream." });
type Listening = z.output<typeof LISTENING>;

const SIGNED_EVENT = z
	.strictObject({
		path: z.string().meta({
			description: "Path that is signed instead of the path of a Postback URL.",
			examples: ["/postback"],
		}),
		timestamp: z.string().regex(/^\d+$/).describe("The same as in a callback's header."),
		nonce: z.string().describe("The same as in a callback's header."),
		signature: z
			.string()
			.regex(/^[\da-f]{64}$/)
			.describe(
				"Signature of a POST to `path` with `data` as its body, made with the programme's active secret.",
			),
	})
	.meta({ id: "SignedEvent", description: "The signature of a stream's message." });
type SignedEvent = z.output<typeof SIGNED_EVENT>;

export const STREAM_EVENTS: SignedRoute = {
	caller: "shop",
	method: "GET",
	path: "/v1/events",
	tag: "Events",
	operationId: "streamEvents",
	summary: "Follow the programme's events as they happen",
	description:
		"Answers server-sent events, whether or not a Postback URL is saved. `ringback listen` reads this stream. It does not affect the callbacks to the saved URL. The stream ends after a while, when the key ends, and when the service stops. Then request it again with `after`, signed again.",
	query: EVENTS_QUERY,
	sampleQuery: "test=true",
	answers: {
		200: {
			description:
				"The first message is `listening`, and its `data` describes the stream (schema `Listening`). Then comes a message for each event, with `event` (its name), `id` (a cursor for `after`), `data` (the body of its callback, schema `Event`) and, while a secret is active, `signed` (schema `SignedEvent`), with which the event can be verified like a callback. Lines that begin with a colon, and messages without `data`, only keep the connection open and the cursor up to date.",
			mediaType: "text/event-stream",
			schema: z.string(),
			example: exampleStream(),
			mentions: [LISTENING, SIGNED_EVENT],
		},
	},
	faults: ["fields", "cursor", "archived", "stream"],
	plan: (deps) => createGetEvents(deps, new EventStreams(deps)),
};

function exampleStream(): string {
	const message = (event: string, id: string, data: string) =>
		`event: ${event}\nid: ${id}\ndata: ${data}\n\n`;
	const greeting: Listening = { programId: EXAMPLE_PROGRAM_ID, testOnly: false, hasPostbackUrl: true };
	return [
		message("listening", "q5mYV0Yb3O6kZyXo0l9kVYVn", JSON.stringify(greeting)),
		message("conversion.recorded", "p6N7Qb2ZrA2fPjX0p6N7Qb2Z", exampleCallback("conversion.recorded")),
	].join("");
}

function createGetEvents(deps: AppDeps, streams: EventStreams): Endpoint {
	return (call) => {
		const { programme } = call;
		const { receiver_id: receiverId } = programme;
		const { moveOrder } = deps.store;
		const answer: LonePlan["answer"] = async (trx) => {
			const request = await parseRequest({ db: trx, moveOrder }, deps, programme, call.query);
			if (!request.ok) return request;
			if (programme.archived_at_ms !== null) return refusalOf("programme_archived", {});
			const room = streams.judgeRoom(receiverId);
			if (!room.ok) return room;
			const source: StreamSource = {
				...createSource(deps, call, request.value),
				async onHungUp() {
					if (streams.countOf(receiverId) > 0) return;
					await storeListenerEnd(deps.store.db, receiverId, deps.clock.nowMs());
				},
			};
			await storeListener(trx, receiverId, call.nowMs);
			return succeed({
				outcome: "LISTENING",
				httpStatus: 200,
				body: null,
				conversionId: null,
				isOfListener: true,
				openStream: () => streams.answer(receiverId, source),
			});
		};
		return { orderId: null, runsAlone: true, requests: [], answer };
	};
}

async function parseRequest(
	store: MoveStore,
	seal: Pick<AppDeps, "keyRing">,
	programme: Programme,
	query: URLSearchParams,
): Promise<Result<StreamRequest>> {
	const names = parseQuery(query);
	if (!names.ok) return names;
	const fields = checkFields(EVENTS_QUERY, names.value);
	if (!fields.ok) return fields;
	const { after, test = "false" } = fields.value;
	if (test !== "true" && test !== "false") {
		return refuse("invalid_field", "test must be true or false, or left out.", "test");
	}
	const testOnly = test === "true";
	if (after === undefined) return succeed({ position: await startOfFeed(store), testOnly });
	const position = readCursor(seal, listOf(programme), after);
	if (position !== undefined && (await hasReached(store, position))) {
		return succeed({ position, testOnly });
	}
	return refuse(
		"malformed_cursor",
		"This cursor is not one of this programme's. Take the ID of an event as it is, or leave it out to listen from now on.",
		"after",
	);
}

function createSource(
	deps: AppDeps,
	{ programme, keyId, secretId, hangUp, nowMs: openedAtMs }: SignedCall,
	{ position: start, testOnly }: StreamRequest,
): Omit<StreamSource, "onHungUp"> {
	const { store, clock, random, keyRing } = deps;
	const { receiver_id: receiverId } = programme;
	let position = start;
	let notedAtMs = openedAtMs;
	const idLine = (cursor: Cursor): string =>
		`id: ${writeCursor({ keyRing, random }, listOf(programme), cursor)}\n`;
	const greeting: Listening = {
		programId: programme.public_id,
		testOnly,
		hasPostbackUrl: programme.endpoint_id !== null,
	};
	return {
		opening: `event: listening\n${idLine(start)}data: ${JSON.stringify(greeting)}\n\n`,
		async look() {
			const batch = await readFeed(store, programme, position, { testOnly, nowMs: clock.nowMs() });
			if (batch.events.length === 0 && !batch.hasMore) {
				position = batch.position;
				return null;
			}
			return {
				hasMore: batch.hasMore,
				async compose() {
					position = batch.position;
					const signBody = batch.events.length === 0 ? null : await findEventSigner(deps, receiverId);
					const messages = batch.events.map(({ event, body, position: after }) => {
						const signedLine = signBody === null ? "" : `signed: ${JSON.stringify(signBody(body))}\n`;
						return `event: ${event}\n${idLine(after)}${signedLine}data: ${body}\n\n`;
					});
					// The text is empty if the batch contains only events of other shops. Any output would reveal how
					// much they sell.
					return messages.join("");
				},
			};
		},
		async isAllowed() {
			return (
				clock.isSure() &&
				(await mayKeyListen(store.db, keyId)) &&
				(await isSecretUsable(store.db, secretId, clock.nowMs()))
			);
		},
		async onAlive() {
			const nowMs = clock.nowMs();
			if (nowMs - notedAtMs < NOTE_MS) return;
			notedAtMs = nowMs;
			await storeListener(store.db, receiverId, nowMs);
		},
		// The heartbeat contains the current position, so that a client that reconnects does not read the same
		// events again.
		heartbeat: () => `: still here\n${idLine(position)}\n`,
		hangUp,
	};
}

function listOf({ public_id }: Programme): string {
	return `events of ${public_id}`;
}

/**
 * Path that the signature of an event covers. A callback's signature covers the path of the saved URL instead. All
 * examples use this path.
 */
const SIGNED_PATH = "/postback";
const NONCE_BYTES = 16;

/**
 * Returns a function that signs the body of an event like its callback, so that a listener without an endpoint can check
 * that its secret is the one that callbacks are signed with. Returns null if no secret is active, or if it cannot be
 * opened.
 */
async function findEventSigner(
	{ store, clock, random, keyRing }: AppDeps,
	receiverId: ReceiverId,
): Promise<((body: string) => SignedEvent) | null> {
	const active = await findActiveSecret(store.db, receiverId);
	const secret = active === undefined ? null : openSecret(keyRing, receiverId, active.sealed);
	if (secret === null) return null;
	const key = signingKey(secret);
	return (body) => {
		const timestamp = String(Math.floor(clock.nowMs() / 1_000));
		const nonce = random.hex(NONCE_BYTES);
		const canonical = canonicalString("POST", SIGNED_PATH, timestamp, nonce, sha256Hex(body));
		return { path: SIGNED_PATH, timestamp, nonce, signature: sign(key, canonical) };
	};
}
