// GET /v1/events sends the programme's events as they happen, as server-sent events, for `ringback listen`.
// The endpoint only reads events and records that somebody listens. It does not affect any delivery.

import * as z from "zod";
import { readFeed } from "../conversions/event-feed.ts";
import { type Cursor, readCursor, writeCursor } from "../domain/cursor.ts";
import { type Result, refusalOf, refuse, succeed } from "../domain/fault.ts";
import type { MoveStore } from "../store/queries/announced-moves.ts";
import { hasReached, startOfFeed } from "../store/queries/announced-moves.ts";
import { mayKeyListen } from "../store/queries/keys.ts";
import { noteListener } from "../store/queries/local-answers.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { isSecretUsable } from "../store/queries/signing-secrets.ts";
import type { Listening } from "./answers.ts";
import type { LonePlan } from "./call-plan.ts";
import type { AppDeps } from "./deps.ts";
import type { EventStreams } from "./event-streams.ts";
import { type Followed, followEvents, SIGNED_PATH } from "./followed-events.ts";
import { checkFields, parseQuery } from "./read-request.ts";
import type { Endpoint, SignedCall } from "./signed-call.ts";

export const EVENTS_QUERY = z.strictObject({
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

export function createGetEvents(deps: AppDeps, streams: EventStreams): Endpoint {
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
			await noteListener(trx, receiverId, call.nowMs);
			return succeed({
				outcome: "LISTENING",
				httpStatus: 200,
				body: null,
				conversionId: null,
				isOfListener: true,
				openStream: () => followEvents(deps, streams, followProgramme(deps, call, request.value)),
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
	const { after } = fields.value;
	const testOnly = readTestOnly(fields.value);
	if (!testOnly.ok) return testOnly;
	if (after === undefined) {
		return succeed({ position: await startOfFeed(store), testOnly: testOnly.value });
	}
	const position = readCursor(seal, listOf(programme), after);
	if (position !== undefined && (await hasReached(store, position))) {
		return succeed({ position, testOnly: testOnly.value });
	}
	return refuseCursor("programme");
}

export function readTestOnly({ test = "false" }: z.output<typeof EVENTS_QUERY>): Result<boolean> {
	if (test === "true" || test === "false") return succeed(test === "true");
	return refuse("invalid_field", "test must be true or false, or left out.", "test");
}

export function refuseCursor(owner: "programme" | "partner"): Result<never> {
	return refuse(
		"malformed_cursor",
		`This cursor is not one of this ${owner}'s. Take the ID of an event as it is, or leave it out to listen from now on.`,
		"after",
	);
}

function followProgramme(
	{ store, clock, random, keyRing }: AppDeps,
	{ programme, keyId, secretId, hangUp, nowMs }: SignedCall,
	{ position: start, testOnly }: StreamRequest,
): Followed<Cursor> {
	const greeting: Listening = {
		programId: programme.public_id,
		testOnly,
		hasPostbackUrl: programme.endpoint_id !== null,
	};
	return {
		receiverId: programme.receiver_id,
		greeting,
		start,
		notedAtMs: nowMs,
		writeCursor: (position) => writeCursor({ keyRing, random }, listOf(programme), position),
		async read(after) {
			const batch = await readFeed(store, programme, after, { testOnly, nowMs: clock.nowMs() });
			const events = batch.events.map(({ event, body, position }) => ({
				event,
				data: body,
				callback: { method: "POST", target: SIGNED_PATH, body } as const,
				position,
			}));
			return { ...batch, events };
		},
		describeSigned: (signed) => signed,
		async isAllowed() {
			return (
				clock.isSure() &&
				(await mayKeyListen(store.db, keyId)) &&
				(await isSecretUsable(store.db, secretId, clock.nowMs()))
			);
		},
		hangUp,
	};
}

function listOf({ public_id }: Programme): string {
	return `events of ${public_id}`;
}
