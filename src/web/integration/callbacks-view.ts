// What the tab Callbacks shows, read in one go: for the page, and again for its stream when something has changed.

import { type CallbackHealth, readCallbackHealth } from "../../callbacks/health.ts";
import { EVENT_NAMES } from "../../domain/event-name.ts";
import { isGoodAnswer } from "../../domain/local-answer.ts";
import { SECOND_MS } from "../../domain/time.ts";
import { type Conversion, findNewestTest } from "../../store/queries/conversions.ts";
import { countFailed, countWaiting } from "../../store/queries/delivery-health.ts";
import {
	type ListedDelivery,
	listDeliveries,
	listDeliveriesOfConversion,
} from "../../store/queries/delivery-list.ts";
import { type IntegrationChecks, readIntegrationChecks } from "../../store/queries/first-times.ts";
import type { ListPage } from "../../store/queries/list-page.ts";
import {
	findListener,
	listAnswersOf,
	listNewestAnswers,
	type StoredLocalAnswer,
} from "../../store/queries/local-answers.ts";
import { type Programme, presentUrl } from "../../store/queries/programmes.ts";
import { findUsableSecrets, stateOf } from "../../store/queries/signing-secrets.ts";
import { STATE_WORDS } from "../conversion-ui.ts";
import {
	choice,
	cursorOf,
	declareFilters,
	type Pages,
	pagesOf,
	UNSEEN,
	WHOLE_ORDER,
} from "../filter-query.ts";
import { listenCommand, type ShownOnce } from "../listen-command.ts";
import { flashAt, may, programmeOf, type WebContext, type WebDeps } from "../page.ts";
import { integrationPath, keysPath } from "../paths.ts";
import type { Html } from "../ui.ts";
import { type FormPart, type HiddenFields, hiddenFields, queryOf } from "./frame.ts";

export const DELIVERY_FILTERS = declareFilters({
	state: choice(
		"State",
		"All states",
		["pending", "delivered", "failed", "cancelled"],
		(state) => STATE_WORDS[state],
	),
	event: choice("Event", "All events", EVENT_NAMES),
	order: WHOLE_ORDER,
	after: UNSEEN,
});

export interface CallbacksView {
	programme: Programme;
	/** Of the page, and of its forms, which are below it. */
	path: string;
	keysPath: string;
	/** For its forms: the list as it is filtered. */
	hidden: HiddenFields;
	/** The list as it is filtered, for pages that lead back to it; undefined while it is not. */
	back: string | undefined;
	/** Whoever may not is offered no button. */
	mayIntegrate: boolean;
	/** What the last form came to, for the part that it was about. */
	told(part: FormPart["part"]): Html | null;
	nowMs: number;
	/** What is pasted into a terminal to hear of events there; with what is shown once, where it is known. */
	listenCommand(shown?: ShownOnce): string;
	/** Somebody listens, or did a moment ago. */
	isListening: boolean;
	/** The last thing that a listener told of, where it is good. */
	goodAnswer: StoredLocalAnswer | null;
	/** The Postback URL that is saved now. */
	url: string | null;
	/** A secret signs callbacks. */
	hasSecret: boolean;
	checks: IntegrationChecks;
	health: CallbackHealth;
	test: TestedConversion | null;
	filters: ReturnType<typeof DELIVERY_FILTERS.read>;
	/** Null when a filter is not understood: nothing is listed then. */
	deliveries: { page: ListPage<ListedDelivery>; pages: Pages } | null;
	/** The newest, of all kinds: what is new belongs on the page. */
	isLive: boolean;
	/** There is somewhere to send to, and its reader may. */
	canSend: boolean;
	/** How many failed, and how many wait for a later attempt; as far as they are counted. */
	failedCount: number;
	waitingCount: number;
}

export interface TestedConversion {
	conversion: Conversion;
	deliveries: readonly ListedDelivery[];
	/** What listeners told of its events. */
	localAnswers: readonly StoredLocalAnswer[];
}

/** Twice the time between two signs of life of a silent stream, and some. */
const LISTENING_WITHIN_MS = 40 * SECOND_MS;
/** A test has four events; one may be told of several times. */
const ANSWERS_OF_TEST = 20;
/** A screenful: the whole tab is to be three at most. */
const PAGE_ROWS = 15;

/** `search`: the filters of the deliveries, as they stand in the page's address. */
export async function readCallbacks(c: WebContext, deps: WebDeps, search = ""): Promise<CallbacksView> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	const url = (await presentUrl(db, programme.id)) ?? null;
	const secrets = await findUsableSecrets(db, [programme.id], nowMs);
	const hasSecret = secrets.some((secret) => stateOf(secret, nowMs) === "active");
	const [lastAnswer] = await listNewestAnswers(db, programme.id, 1);
	return {
		programme,
		path: integrationPath(programme.public_id),
		keysPath: keysPath(programme.public_id),
		hidden: hiddenFields(search),
		back: queryOf(search) || undefined,
		mayIntegrate: may(c, "integrate"),
		told: (part) => flashAt(c, part),
		nowMs,
		listenCommand: (shown) => listenCommand(deps.publicUrl, deps.network.face.brand, shown),
		isListening: await isListened(deps, programme),
		goodAnswer: lastAnswer !== undefined && isGoodAnswer(lastAnswer) ? lastAnswer : null,
		url,
		hasSecret,
		checks: await readIntegrationChecks(db, programme.id),
		health: await readCallbackHealth(db, programme, nowMs),
		test: await readTest(deps, programme),
		...(await readDeliveries(deps, programme, search)),
		canSend: may(c, "integrate") && url !== null && hasSecret,
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

async function readTest({ store: { db } }: WebDeps, programme: Programme): Promise<TestedConversion | null> {
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
	programme: Programme,
	search: string,
): Promise<Pick<CallbacksView, "filters" | "deliveries" | "isLive">> {
	const filters = DELIVERY_FILTERS.read(search);
	const { query, problems } = filters;
	if (Object.keys(problems).length > 0) return { filters, deliveries: null, isLive: false };
	const list = {
		name: `deliveries of programme:${programme.id}`,
		path: integrationPath(programme.public_id),
		query,
		cursorName: "after",
		hash: "#deliveries",
	};
	const page = await listDeliveries(deps.store.db, {
		programmeId: programme.id,
		state: query.state,
		event: query.event,
		orderId: query.order,
		after: cursorOf(deps, list),
		limit: PAGE_ROWS,
	});
	const isLive = Object.values(query).every((value) => value === undefined);
	return { filters, deliveries: { page, pages: pagesOf(deps, list, page) }, isLive };
}
