// Calls of `ringback listen` for partners. GET /v1/partner/events sends the partner's events as they happen, and
// POST /v1/partner/events/answers reports how the developer's own machine answered them. Neither affects any callback.

import * as z from "zod";
import {
	hasReachedPartner,
	type ListeningPartner,
	type PartnerPosition,
	readPartnerFeed,
	startOfPartnerFeed,
} from "../../conversions/partner-feed.ts";
import { isExpired } from "../../domain/api-token.ts";
import { readCursor, writeCursor } from "../../domain/cursor.ts";
import { type Result, refusalOf, succeed } from "../../domain/fault.ts";
import { partnerBodySentAt } from "../../domain/partner-event.ts";
import { composeCallback } from "../../domain/sent-request.ts";
import { isTokenUsable } from "../../store/queries/api-tokens.ts";
import { findAnnouncedToPartner, noteListener } from "../../store/queries/local-answers.ts";
import { findPartnerReceiver, presentEndpoint } from "../../store/queries/receivers.ts";
import { ANSWERS_KEPT_BODY } from "../answers.ts";
import { type Followed, followEvents, SIGNED_PATH } from "../followed-events.ts";
import { EVENTS_QUERY, readTestOnly, refuseCursor } from "../get-events.ts";
import { ANSWERS_BODY, MAX_ANSWERS, reportedAnswersOf } from "../post-event-answers.ts";
import { EXAMPLE_CONVERSION_ID } from "../sale-fields.ts";
import { partnerIdOf } from "./own-calls.ts";
import { route, type TokenApiDeps, type TokenCall, type TokenRoute } from "./route.ts";

type StreamCall = TokenCall<z.output<typeof EVENTS_QUERY>, unknown>;

/** Returns the partner that the token belongs to, as a listener. Events are recorded only for a partner with an endpoint. */
async function findListeningPartner(
	{ store }: Pick<TokenApiDeps, "store">,
	call: Pick<StreamCall, "token">,
): Promise<Result<ListeningPartner>> {
	const partnerId = partnerIdOf(call);
	const receiver = await findPartnerReceiver(store.db, partnerId);
	if (receiver === undefined || receiver.endpoint_id === null) return refusalOf("no_events_recorded", {});
	return succeed({ partnerId, receiverId: receiver.receiver_id });
}

async function readPosition(
	deps: TokenApiDeps,
	partner: ListeningPartner,
	after: string | undefined,
): Promise<Result<PartnerPosition>> {
	if (after === undefined) return succeed(await startOfPartnerFeed(deps.store, partner));
	const [movesText, testsText, ...rest] = after.split(".");
	const moves = readCursor(deps, movesListOf(partner), movesText);
	const tests = readCursor(deps, testsListOf(partner), testsText);
	if (moves === undefined || tests === undefined || rest.length > 0) return refuseCursor("partner");
	const position = { moves, testId: tests.id };
	return (await hasReachedPartner(deps.store, position)) ? succeed(position) : refuseCursor("partner");
}

function movesListOf({ partnerId }: ListeningPartner): string {
	return `events of partner ${partnerId}`;
}

function testsListOf({ partnerId }: ListeningPartner): string {
	return `test callbacks of partner ${partnerId}`;
}

function followPartner(
	deps: TokenApiDeps,
	{ token, nowMs, hangUp }: StreamCall,
	partner: ListeningPartner,
	start: PartnerPosition,
	greeting: { testOnly: boolean; hasPostbackUrl: boolean },
): Followed<PartnerPosition> {
	const { store, clock, keyRing, random } = deps;
	const seal = { keyRing, random };
	return {
		receiverId: partner.receiverId,
		greeting: { partnerId: token.partnerPublicId, ...greeting },
		start,
		notedAtMs: nowMs,
		writeCursor: ({ moves, testId }) =>
			[
				writeCursor(seal, movesListOf(partner), moves),
				writeCursor(seal, testsListOf(partner), { at: 0, id: testId }),
			].join("."),
		async read(after) {
			const batch = await readPartnerFeed(store, partner, after, greeting.testOnly);
			if (batch.events.length === 0) return { ...batch, events: [] };
			const endpoint = await presentEndpoint(store.db, partner.receiverId);
			const form = endpoint?.form ?? "json";
			// The query of a GET has the values that the partner chose. The path is that of all examples.
			const query = form === "get" ? (/\?.*$/s.exec(endpoint?.url ?? "")?.[0] ?? "") : "";
			const signed = { kind: "partner", form, pathAndQuery: `${SIGNED_PATH}${query}` } as const;
			const sentAtMs = clock.nowMs();
			const events = batch.events.map(({ event, composed, position }) => ({
				event,
				data: partnerBodySentAt(event, composed, sentAtMs),
				callback: composeCallback(signed, event, composed, sentAtMs),
				position,
			}));
			return { ...batch, events };
		},
		describeSigned: (signed, { method }) => ({ method, ...signed }),
		async isAllowed() {
			return clock.isSure() && !isExpired(token, clock.nowMs()) && (await isTokenUsable(store.db, token.id));
		},
		hangUp,
	};
}

const ABOUT_STREAM = [
	"Answers server-sent events, whether or not a callback URL is saved. `ringback listen` reads this stream.",
	"It does not affect the callbacks to the saved URL.",
	"The stream ends after a while, when the token is revoked or expires, and when the service stops. Then request it again with `after`.",
].join(" ");

const EXAMPLE_STREAM = `event: listening
id: q5mYV0Yb3O6k.ZyXo0l9kVYVn
data: {"partnerId":"ptn_example","testOnly":false,"hasPostbackUrl":false}

`;

export const EVENT_ROUTES: readonly TokenRoute[] = [
	route({
		method: "GET",
		path: "/v1/partner/events",
		right: "partner",
		operationId: "streamPartnerEvents",
		summary: "Follow your events as they happen",
		description: ABOUT_STREAM,
		query: EVENTS_QUERY,
		answers: {
			description:
				"The first message is `listening`. Then comes a message for each event, with `event` (its name), `id` (a cursor for `after`), `data` (the JSON body of its callback) and `signed`. The latter has the `method`, `path`, `timestamp`, `nonce` and `signature` of its callback, with which it can be verified. The body of a GET is empty. Lines that begin with a colon, and messages without `data`, only keep the connection open and the cursor up to date.",
			schema: z.string(),
			example: EXAMPLE_STREAM,
			mediaType: "text/event-stream",
		},
		faults: ["cursor", "stream", "partner stream"],
		async handle(call, deps) {
			const { streams, store } = deps;
			const testOnly = readTestOnly(call.query);
			if (!testOnly.ok) return testOnly;
			const partner = await findListeningPartner(deps, call);
			if (!partner.ok) return partner;
			const { receiverId } = partner.value;
			const start = await readPosition(deps, partner.value, call.query.after);
			if (!start.ok) return start;
			const room = streams.judgeRoom(receiverId);
			if (!room.ok) return room;
			const endpoint = await presentEndpoint(store.db, receiverId);
			await noteListener(store.db, receiverId, call.nowMs);
			const greeting = { testOnly: testOnly.value, hasPostbackUrl: endpoint !== undefined };
			const followed = followPartner(deps, call, partner.value, start.value, greeting);
			return succeed({ body: "", openStream: () => followEvents(deps, streams, followed) });
		},
	}),
	route({
		method: "POST",
		path: "/v1/partner/events/answers",
		right: "partner",
		operationId: "tellPartnerAnswers",
		summary: "Report the results of events on your machine",
		description: `\`ringback listen\` sends these answers while it forwards events, so that the Callbacks page can show them. A call may have up to ${MAX_ANSWERS} answers. It does not affect the callbacks to a saved URL.`,
		body: ANSWERS_BODY,
		sample: {
			answers: [
				{
					conversionId: EXAMPLE_CONVERSION_ID,
					event: "conversion.recorded",
					outcome: "answered",
					status: 204,
					tookMs: 12,
				},
			],
		},
		answers: {
			description: "The number of stored answers.",
			schema: ANSWERS_KEPT_BODY,
			example: { kept: 1 },
		},
		faults: ["partner stream"],
		async handle(call, deps) {
			const partner = await findListeningPartner(deps, call);
			if (!partner.ok) return partner;
			const { receiverId } = partner.value;
			const answers = reportedAnswersOf(call.body);
			return deps.store.transact(async (trx) => {
				const findAnnouncedEvents = (ids: readonly string[]) => findAnnouncedToPartner(trx, receiverId, ids);
				const body = await deps.acceptAnswers(trx, receiverId, answers, findAnnouncedEvents, call.nowMs);
				return succeed({ body });
			});
		},
	}),
];
