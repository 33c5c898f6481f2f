// What the tab Callbacks shows, read in one go.

import { readCallbackHealth } from "../../callbacks/health.ts";
import { EVENT_NAMES } from "../../domain/event-name.ts";
import { isGoodAnswer } from "../../domain/local-answer.ts";
import { readOrderSearch } from "../../domain/order-id.ts";
import { SECOND_MS } from "../../domain/time.ts";
import { findNewestTest } from "../../store/queries/conversions.ts";
import { countFailed, countWaiting } from "../../store/queries/delivery-health.ts";
import { listDeliveries, listDeliveriesOfConversion } from "../../store/queries/delivery-list.ts";
import { readIntegrationChecks } from "../../store/queries/first-times.ts";
import { findListener, listAnswersOf, listNewestAnswers } from "../../store/queries/local-answers.ts";
import { type Programme, presentUrl } from "../../store/queries/programmes.ts";
import { findUsableSecrets, stateOf } from "../../store/queries/signing-secrets.ts";
import { STATE_WORDS } from "../conversion-ui.ts";
import { choice, cursorOf, declareFilters, PART_OF_ORDER, pagesOf, UNSEEN } from "../filter-query.ts";
import { listenCommand, type ShownOnce } from "../listen-command.ts";
import { flashAt, may, programmeOf, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import { integrationPath, keysPath } from "../paths.ts";
import { type FormPart, queryHere } from "./frame.ts";

export const DELIVERY_FILTERS = declareFilters({
	state: choice(
		"State",
		"All states",
		["pending", "delivered", "failed", "cancelled"],
		(state) => STATE_WORDS[state],
	),
	event: choice("Event", "All events", EVENT_NAMES),
	order: PART_OF_ORDER,
	after: UNSEEN,
});

/** Twice the time between two signs of life of a silent stream, and some. */
const LISTENING_WITHIN_MS = 40 * SECOND_MS;
/** A test has four events; one may be told of several times. */
const ANSWERS_OF_TEST = 20;
/** A screenful: the whole tab is to be three at most. */
const PAGE_ROWS = 15;

export type CallbacksView = Awaited<ReturnType<typeof readCallbacks>>;

export async function readCallbacks(c: WebContext, deps: WebDeps) {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	const path = integrationPath(programme.public_id);
	const mayIntegrate = may(c, "integrate");
	/** Of the days of its chart; the browser's own is not known here. */
	const zone = viewerOf(c).zone ?? "UTC";
	const url = (await presentUrl(db, programme.id)) ?? null;
	const secrets = await findUsableSecrets(db, [programme.id], nowMs);
	const hasSecret = secrets.some((secret) => stateOf(secret, nowMs) === "active");
	const [lastAnswer] = await listNewestAnswers(db, programme.id, 1);
	/** The list as it is filtered. */
	const query = queryHere(c);
	const filters = DELIVERY_FILTERS.read(query);
	return {
		programme,
		/** Of the page, and of its forms, which are below it. */
		path,
		keysPath: keysPath(programme.public_id),
		query,
		/** Whoever may not is offered no button. */
		mayIntegrate,
		isStaff: viewerOf(c).kind === "staff",
		/** What the last form came to, for the part that it was about. */
		told: (part: FormPart["part"]) => flashAt(c, part),
		nowMs,
		/** What is pasted into a terminal to hear of events there; with what is shown once, where it is known. */
		listenCommand: (shown?: ShownOnce) => listenCommand(deps.publicUrl, deps.network.face.brand, shown),
		/** Somebody listens, or did a moment ago. */
		isListening: await isListened(deps, programme),
		/** The last thing that a listener told of, where it is good. */
		goodAnswer: lastAnswer !== undefined && isGoodAnswer(lastAnswer) ? lastAnswer : null,
		/** The Postback URL that is saved now. */
		url,
		/** A secret signs callbacks. */
		hasSecret,
		checks: await readIntegrationChecks(db, programme.id),
		zone,
		health: await readCallbackHealth(db, programme, nowMs, zone),
		test: await readTest(deps, programme),
		filters,
		/** Null when a filter is not understood: nothing is listed then. */
		deliveries: await readDeliveries(deps, programme, filters),
		/** The newest, of all kinds: what is new belongs on the page. */
		isLive: Object.keys(filters.typed).length === 0,
		/** There is somewhere to send to, and its reader may. */
		canSend: mayIntegrate && url !== null && hasSecret,
		/** How many failed, and how many wait for a later attempt; as far as they are counted. */
		failedCount: await countFailed(db, programme.id),
		waitingCount: await countWaiting(db, programme.id, nowMs),
	};
}

/** Whether a listener would get what happens now. */
export async function isListened(
	{ store, clock }: Pick<WebDeps, "store" | "clock">,
	programme: Programme,
): Promise<boolean> {
	const listener = await findListener(store.db, programme.id);
	if (listener === undefined) return false;
	const { seenAtMs, closedAtMs } = listener;
	return (closedAtMs ?? 0) < seenAtMs && clock.nowMs() - seenAtMs <= LISTENING_WITHIN_MS;
}

/** The newest test, with what listeners told of its events. */
async function readTest({ store: { db } }: WebDeps, programme: Programme) {
	const conversion = await findNewestTest(db, programme.id);
	if (conversion === undefined) return null;
	return {
		conversion,
		deliveries: await listDeliveriesOfConversion(db, conversion.id),
		localAnswers: await listAnswersOf(db, conversion.public_id, ANSWERS_OF_TEST),
	};
}

async function readDeliveries(
	deps: WebDeps,
	{ id: programmeId, public_id: publicId }: Programme,
	{ query, problems }: ReturnType<typeof DELIVERY_FILTERS.read>,
) {
	if (Object.keys(problems).length > 0) return null;
	const list = {
		name: `deliveries of programme:${programmeId}`,
		path: integrationPath(publicId),
		query,
		cursorName: "after",
		hash: "#deliveries",
	};
	const { order, state, event } = query;
	const search = order === undefined ? undefined : readOrderSearch(order);
	const request = { after: cursorOf(deps, list), limit: PAGE_ROWS };
	const page = await listDeliveries(deps.store.reader, { programmeId, state, event, search, ...request });
	return { page, pages: pagesOf(deps, list, page) };
}
