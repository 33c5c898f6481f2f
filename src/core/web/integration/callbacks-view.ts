// Reads all data that the tab "Callbacks" shows, for a shop and for a partner.

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
import type { Programme } from "../../store/queries/programmes.ts";
import { presentEndpoint } from "../../store/queries/receivers.ts";
import { findUsableSecrets, stateOf } from "../../store/queries/signing-secrets.ts";
import { ask } from "../ask.ts";
import { STATE_WORDS } from "../conversion-ui.ts";
import { choice, PART_OF_ORDER } from "../filters.ts";
import { readRows } from "../list.ts";
import { envLines, listenCommand, type ShownOnce } from "../listen-command.ts";
import { flashAt, programmeOf, viewerOf, type WebContext, type WebDeps } from "../page.ts";
import { keysPath } from "../paths.ts";
import { type Called, calledOf } from "./called.ts";
import { type FormPart, queryHere } from "./frame.ts";

const FILTERS = {
	order: PART_OF_ORDER,
	state: choice(
		"State",
		"All states",
		["pending", "delivered", "failed", "cancelled"],
		(state) => STATE_WORDS[state],
	),
	event: choice("Event", "All events", EVENT_NAMES),
};

/**
 * Time for which a listener counts as connected after a heartbeat. It is a little more than two intervals
 * between heartbeats.
 */
const LISTENING_WITHIN_MS = 40 * SECOND_MS;
/**
 * Maximum number of listener results that are shown for a test. A test has four events, and one may be
 * reported several times.
 */
const ANSWERS_OF_TEST = 20;
/** Number of callbacks on a page of the list, about one screen. */
const PAGE_ROWS = 15;

/** Lists and figures about the callbacks of a receiver, for a shop and for a partner. */
export type CalledView = Awaited<ReturnType<typeof readCalled>>;

export async function readCalled(c: WebContext, deps: WebDeps, called: Called) {
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	const { path, mayIntegrate, columns } = called;
	const { receiver_id: receiverId } = columns;
	const zone = c.get("network").timeZone;
	const endpoint = (await presentEndpoint(db, receiverId)) ?? null;
	const secrets = await findUsableSecrets(db, [receiverId], nowMs);
	const hasSecret = secrets.some((secret) => stateOf(secret, nowMs) === "active");
	const asked = ask(c, {
		path,
		hash: "#deliveries",
		filters: FILTERS,
		// A partner must not see orders, so its list has no search for them.
		without: called.kind === "shop" ? [] : ["order"],
		idPrefix: "delivery-",
	});
	const deliveries = await readRows(
		deps,
		asked,
		`deliveries of ${called.ownerId}`,
		(at) => {
			const { order, ...filter } = asked.query;
			const search = order === undefined ? undefined : readOrderSearch(order);
			const { programmeId } = called;
			return listDeliveries(deps.store.reader, { receiverId, programmeId, search, ...filter, ...at });
		},
		PAGE_ROWS,
	);
	return {
		called,
		/** Path of the tab, with which the paths of its forms begin. */
		path,
		query: queryHere(c),
		/** True if the reader may change the integration. Other readers see no buttons. */
		mayIntegrate,
		isStaff: viewerOf(c).kind === "staff",
		/** Returns the message of the last form if the form belongs to this part of the page. */
		messageAt: (part: FormPart["part"]) => flashAt(c, part),
		nowMs,
		/** Saved URL with its choices, or null if there is none. */
		endpoint,
		url: endpoint?.url ?? null,
		/** True if the receiver has an active secret. Without one, callbacks cannot be signed. */
		hasSecret,
		zone,
		health: await readCallbackHealth(db, columns, nowMs, zone),
		asked,
		deliveries,
		/**
		 * True if the first page is shown without filters. Only then is the list reloaded, so that new callbacks appear.
		 */
		isLive: !asked.isFiltered && asked.isUnderstood && asked.cursor === undefined,
		/** True if callbacks can be sent and the reader may send them. */
		canSend: mayIntegrate && endpoint !== null && hasSecret,
		/** Number of failed callbacks, counted up to a limit. */
		failedCount: await countFailed(db, receiverId),
		waitingCount: await countWaiting(db, receiverId, nowMs),
	};
}

export type CallbacksView = Awaited<ReturnType<typeof readCallbacks>>;

/** Reads the tab of a shop, which also shows the set-up of its own requests and its test conversions. */
export async function readCallbacks(c: WebContext, deps: WebDeps) {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const called = await calledOf(c, deps);
	if (called === null) throw new Error("a programme without a receiver");
	const [lastAnswer] = await listNewestAnswers(db, programme.receiver_id, 1);
	return {
		...(await readCalled(c, deps, called)),
		programme,
		keysPath: keysPath(programme.public_id),
		/** Returns the terminal command that listens for events. It contains the key and the secret if these are given. */
		listenCommand: (shown?: ShownOnce) => listenCommand(deps.publicUrl, deps.network.face.brand, shown),
		/** Returns the settings of the listen command for a .env file. */
		envLines: (shown?: ShownOnce) => envLines(deps.publicUrl, deps.network.face.brand, shown),
		/** True if a listener has sent a heartbeat within the last 40 seconds. */
		isListening: await isListened(deps, programme),
		/** Newest result that a listener reported, or null if that result is not a success. */
		goodAnswer: lastAnswer !== undefined && isGoodAnswer(lastAnswer) ? lastAnswer : null,
		checks: await readIntegrationChecks(db, programme.id),
		test: await readTest(deps, programme),
	};
}

/** Returns true if a listener of the programme has sent a heartbeat recently. */
export async function isListened(
	{ store, clock }: Pick<WebDeps, "store" | "clock">,
	{ receiver_id: receiverId }: Programme,
): Promise<boolean> {
	const listener = await findListener(store.db, receiverId);
	if (listener === undefined) return false;
	const { seenAtMs, closedAtMs } = listener;
	return (closedAtMs ?? 0) < seenAtMs && clock.nowMs() - seenAtMs <= LISTENING_WITHIN_MS;
}

/** Reads the newest test conversion, its callbacks, and the results that listeners reported for it. */
async function readTest({ store: { db } }: WebDeps, programme: Programme) {
	const conversion = await findNewestTest(db, programme.id);
	if (conversion === undefined) return null;
	return {
		conversion,
		deliveries: await listDeliveriesOfConversion(db, programme.receiver_id, conversion.id),
		localAnswers: await listAnswersOf(db, programme.receiver_id, conversion.public_id, ANSWERS_OF_TEST),
	};
}
