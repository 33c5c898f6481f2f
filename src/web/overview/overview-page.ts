// /programmes/:id/overview: how many conversions in which status, what they are worth, whether callbacks work, and the
// notices: when they failed and when they recovered, why, what is still undelivered, who was told.

import { explainFailure } from "../../callbacks/failure-cause.ts";
import { type CallbackHealth, readCallbackHealth } from "../../callbacks/health.ts";
import type { DayCounts, StatusTotal, Tally, TallyLook } from "../../conversions/tally.ts";
import type { Status } from "../../domain/conversion.ts";
import { currencyDigits, formatMinor } from "../../domain/money.ts";
import { callbacksTopic, MAILED_ROLES } from "../../domain/notice.ts";
import { DAY_MS, utcDay } from "../../domain/time.ts";
import {
	countFailed,
	countUndelivered as readUndelivered,
	type Undelivered,
} from "../../store/queries/delivery-health.ts";
import { listMailsOn, type MailState } from "../../store/queries/mail-queue.ts";
import { listNotices, type ShownNotice } from "../../store/queries/notices.ts";
import { findPersonByPublicId } from "../../store/queries/people.ts";
import { hasConversions } from "../../store/queries/programme-list.ts";
import { addresseesOf } from "../../store/queries/programme-people.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import {
	type ChartSeries,
	chart,
	countUndelivered,
	lastFailure,
	resendOffer,
	sayUndelivered,
	statusBadge,
} from "../conversion-ui.ts";
import { cursorOf, type Pages, pager, pagesOf } from "../filter-query.ts";
import { healthStrip } from "../integration/health-section.ts";
import {
	answerPage,
	csrfField,
	may,
	type PageDeps,
	programmeOf,
	standingOf,
	viewerOf,
	type WebContext,
} from "../page.ts";
import {
	ACCOUNT_PATH,
	conversionsPath,
	integrationPath,
	noticesPath,
	overviewPath,
	withQuery,
} from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";

const NOTICES = "notices";
const NOTICES_SHOWN = 20;

/** Where the notices were before. */
export function showNotices(c: WebContext): Response {
	return c.redirect(noticesPath(programmeOf(c).public_id), 301);
}

export async function showOverview(c: WebContext, deps: PageDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	const view: OverviewView = {
		programme,
		nowMs,
		look: await deps.tallies.look(programme.id),
		isNew: !(await hasConversions(db, programme.id)),
		notices: await readNotices(c, deps, nowMs),
		health: await readCallbackHealth(db, programme, nowMs),
		failed: await countFailed(db, programme.id),
		mayResend: may(c, "integrate"),
		csrf: csrfField(c),
	};
	return answerPage(c, {
		title: "Overview",
		active: "overview",
		body: renderOverview(view),
	});
}

/** What changes while a large programme is being counted: fetched again by itself until it is done. */
export async function showTotals(c: WebContext, deps: PageDeps): Promise<Response> {
	const programme = programmeOf(c);
	const look = await deps.tallies.look(programme.id);
	return c.html(await totals(programme, look, deps.clock.nowMs()));
}

interface OverviewView {
	programme: Programme;
	nowMs: number;
	look: TallyLook;
	/** Nothing was ever reported, not even a test. */
	isNew: boolean;
	health: CallbackHealth;
	notices: NoticesView;
	/** How many callbacks failed for good and were not resent; as far as they are counted. */
	failed: number;
	mayResend: boolean;
	csrf: Html;
}

function renderOverview(view: OverviewView): Content {
	const { programme, health } = view;
	const isNew = view.isNew && view.failed === 0;
	const integration = integrationPath(programme.public_id);
	const header = ui.pageHeader({
		title: "Overview",
		hint: "Conversions and money leave tests out. Callbacks count every attempt, also for tests.",
	});
	if (isNew) {
		return [
			header,
			html`<div class="card">${ui.emptyState({
				isAlone: true,
				title: "No conversion yet",
				text: "Issue an API key, sign a request and report a sale, or send a test conversion: the Integration page takes you through it.",
				action: ui.linkButton({ label: "Go to Integration", href: integration, tone: "primary" }),
			})}</div>`,
			noticesPart(view.notices),
		];
	}
	return [
		header,
		totals(programme, view.look, view.nowMs),
		ui.section({
			id: "callbacks",
			title: "Callbacks to your shop",
			hint: programme.endpoint_id === null ? withoutUrl(health) : "How your server responds.",
			actions: ui.linkButton({
				label: programme.endpoint_id === null ? "Set up callbacks" : "All callbacks",
				href: `${integration}#${programme.endpoint_id === null ? "callback" : "deliveries"}`,
				isSmall: true,
			}),
			body: ui.padded(healthStrip(health), failedPart(view)),
		}),
		noticesPart(view.notices),
	];
}

function withoutUrl({ listenedAtMs }: CallbackHealth): Content {
	if (listenedAtMs === null) return "No Postback URL is saved, so no callbacks are sent.";
	return html`No Postback URL is saved: callbacks go to <code>listen</code> only, while it runs.`;
}

/** With the one button that resends them. */
function failedPart(view: OverviewView): Content {
	const { failed } = view;
	if (failed === 0) return null;
	return html`<p>${failed === 1 ? "1 callback" : `${countUndelivered(failed)} callbacks`} failed permanently and ${failed === 1 ? "was" : "were"} not resent.</p>${resendOffer(view)}`;
}

function totals(programme: Programme, { count: tally, isCounting }: TallyLook, nowMs: number): Html {
	const path = overviewPath(programme.public_id);
	const again = isCounting
		? html`hx-get="${path}/totals" hx-trigger="load delay:1s" hx-swap="outerHTML"`
		: null;
	if (tally === null) {
		return html`<div id="totals" class="stack" ${again}>${ui.section({
			id: "conversions",
			title: "Conversions",
			body: ui.emptyState({
				title: "Being counted",
				text: "This programme has many conversions. Adding them up takes a few seconds the first time.",
				action: ui.linkButton({ label: "Look again", href: path }),
			}),
		})}</div>`;
	}
	const counted = html`Counted ${ui.timeTag(tally.countedAtMs)}${isCounting ? "; a newer count is under way" : ""}.`;
	return html`<div id="totals" class="stack" ${again}>${ui.section({
		id: "conversions",
		title: "Conversions",
		hint: counted,
		body: ui.padded(statusChart(tally.days, DAYS_SHOWN, nowMs)),
	})}${ui.section({
		id: "money",
		title: "Money by status",
		hint: "Since the programme began.",
		body: moneyTable(programme, tally),
	})}</div>`;
}

const DAYS_SHOWN = 30;

interface MoneyRow {
	status: Status;
	hint: string;
	total: StatusTotal;
}

function moneyTable(programme: { public_id: string; currency: string }, tally: Tally): Html {
	const digits = currencyDigits(programme.currency);
	const money = (minor: bigint) =>
		ui.amount(formatMinor(minor, digits.ok ? digits.value : 0), programme.currency);
	const rows = STATUS_ROWS.flatMap(([status, hint]): MoneyRow[] => {
		const total = tally.totals.get(status);
		return total === undefined ? [] : [{ status, hint, total }];
	});
	return ui.dataTable<MoneyRow>({
		caption: "Sums by status",
		rows,
		empty: null,
		stacks: true,
		columns: [
			{
				title: "Status",
				namesRow: true,
				cell: ({ status, hint }) =>
					html`<a href="${withQuery(conversionsPath(programme.public_id), { status, test: "no" })}">${statusBadge(status)}</a> <span class="small soft">${hint}</span>`,
			},
			{ title: "Conversions", isNumber: true, cell: ({ total }) => ui.count(total.count) },
			{ title: "Basket", isNumber: true, cell: ({ total }) => money(total.basketMinor) },
			{ title: "Commission", isNumber: true, cell: ({ total }) => money(total.commissionMinor) },
			{ title: "Network fee", isNumber: true, cell: ({ total }) => money(total.feeMinor) },
		],
	});
}

interface NoticesView {
	programme: Programme;
	rows: readonly ShownNotice[];
	pages: Pages;
	/** What is undelivered now: told with the newest notice alone, so null on later pages. */
	present: Undelivered | null;
	nowMs: number;
	mayResend: boolean;
	canMail: boolean;
	/** Mails of the last days: some of them may wait. */
	queued: readonly MailState[];
	/** Somebody there has a role that is mailed, wanted or not. */
	hasReaders: boolean;
	/** Whether the reader is mailed. */
	mails: Content;
}

async function readNotices(c: WebContext, deps: PageDeps, nowMs: number): Promise<NoticesView> {
	const { store, mails } = deps;
	const programme = programmeOf(c);
	const list = {
		name: `notices of programme:${programme.id}`,
		path: overviewPath(programme.public_id),
		query: { before: c.req.query("before") },
		cursorName: "before",
		hash: `#${NOTICES}`,
	};
	const after = cursorOf(deps, list);
	const page = await listNotices(store.db, programme.id, { after, limit: NOTICES_SHOWN });
	return {
		programme,
		rows: page.rows,
		pages: pagesOf(deps, list, page),
		present: after === undefined ? await readUndelivered(store.db, programme.id) : null,
		nowMs,
		mayResend: may(c, "integrate"),
		canMail: mails.isOn,
		queued: await listMailsOn(store.db, callbacksTopic(programme.id)),
		hasReaders: (await addresseesOf(store.db, programme.id, MAILED_ROLES)).length > 0,
		mails: mails.isOn ? await readMails(c, deps) : "Nobody is mailed: this installation sends no mail.",
	};
}

/** Whether the reader gets mails of these notices. */
async function readMails(c: WebContext, { store }: PageDeps): Promise<Content> {
	const often = "at once, then at most every 15 minutes";
	const standing = standingOf(c);
	if (standing === "staff" || !MAILED_ROLES.some((role) => role === standing)) {
		return `The programme's owners and developers are mailed ${often}; you are not.`;
	}
	const self = await findPersonByPublicId(store.db, viewerOf(c).publicId);
	if (self?.mails_callbacks_failing === 1) return `You are mailed ${often}.`;
	return html`You have switched these mails off under <a href="${ACCOUNT_PATH}#settings">Account</a>.`;
}

/** Without a URL nothing can fail, and there is nothing to be told. */
function noticesPart(view: NoticesView): Content {
	const { programme, rows, pages } = view;
	if (rows.length === 0 && programme.endpoint_id === null) return null;
	return [
		ui.section({
			id: NOTICES,
			title: "Notices",
			hint: html`A notice appears when five attempts in a row fail, when no callback succeeds for ten minutes, and when one fails permanently. ${view.mails}`,
			body:
				rows.length === 0
					? ui.padded(
							html`<p class="soft">None. If callbacks to your shop fail, you read here why and what to do.</p>`,
						)
					: null,
		}),
		...rows.map((notice, index) => noticeCard(view, notice, index === 0 ? view.present : null)),
		pager(pages),
	];
}

function noticeCard(view: NoticesView, notice: ShownNotice, present: Undelivered | null): Html {
	const body =
		notice.kind === "callbacks_failing"
			? failingBody(view, notice, present)
			: recoveredBody(view, notice, present);
	return html`<article class="card" id="${notice.public_id}" aria-labelledby="${notice.public_id}-title">
	<div class="section-head"><div><h2 id="${notice.public_id}-title">${noticeTitle(notice)}</h2></div><div class="row">${noticeState(notice)}</div></div>
	<div class="card-body">${body}</div>
</article>`;
}

function noticeTitle(notice: ShownNotice): string {
	switch (notice.kind) {
		case "callbacks_failing":
			return notice.ended_at_ms === null ? "Callbacks are failing" : "Callbacks failed";
		case "callbacks_working_again":
			return "Callbacks recovered";
		default:
			return notice.kind satisfies never;
	}
}

function noticeState({ kind, ended_at_ms }: ShownNotice): Html {
	if (kind === "callbacks_working_again") return ui.badge("good", "Recovered");
	return ended_at_ms === null ? ui.badge("bad", "Ongoing") : ui.badge("plain", "Resolved");
}

function failingBody(view: NoticesView, notice: ShownNotice, present: Undelivered | null): Html {
	const { programme, nowMs } = view;
	const isOpen = notice.ended_at_ms === null;
	const { advice } = explainFailure(notice);
	const rows: [term: string, value: Content][] = [
		["Since", ui.timeTag(notice.opened_at_ms)],
		["Until", until(notice)],
		["Failed attempts", failedAttempts(notice.failed_attempts)],
		[
			"Failed permanently",
			notice.failures === 0 ? "none" : `${ui.countOf(notice.failures, "callback")}; no more retries`,
		],
		["Last cause", lastFailure(notice, programme.public_id)],
	];
	if (isOpen && present !== null) {
		rows.push(["Undelivered now", sayUndelivered(present, programme.public_id, nowMs)]);
	}
	if (isOpen) rows.push(["What to do", view.mayResend ? `${advice} ${AFTERWARDS}` : FOR_OTHERS]);
	rows.push(["Mail", whoWasMailed(notice, view)]);
	return ui.facts(rows);
}

const AFTERWARDS = "Waiting callbacks are then sent automatically; resend the failed ones.";
const FOR_OTHERS =
	"The programme's owners and developers can put it right. Waiting callbacks are then sent automatically.";

function until({ ended_at_ms: endedAtMs, ended_by: by }: ShownNotice): Content {
	if (endedAtMs === null) return "Ongoing";
	return html`${ui.timeTag(endedAtMs)}${by === "removal" ? ", when the Postback URL was removed" : null}`;
}

function failedAttempts(attempts: number): string {
	return attempts === 1 ? "1" : `${ui.count(attempts)} in a row`;
}

function recoveredBody(view: NoticesView, notice: ShownNotice, present: Undelivered | null): Html {
	const rows: [term: string, value: Content][] = [["Since", ui.timeTag(notice.opened_at_ms)]];
	if (present !== null) rows.push(["Still undelivered", stillUndelivered(view, present)]);
	rows.push(["Mail", whoWasMailed(notice, view)]);
	return ui.facts(rows);
}

function stillUndelivered({ programme, nowMs }: NoticesView, present: Undelivered): Content {
	if (present.waiting === 0 && present.failed === 0) return "none";
	return sayUndelivered(present, programme.public_id, nowMs);
}

const NOBODY = "not sent: nobody to mail yet. The programme has no owner or developer";

function whoWasMailed(notice: ShownNotice, { canMail, hasReaders, queued }: NoticesView): Content {
	const { mailed_at_ms: atMs, mail_due_at_ms: dueAtMs } = notice;
	if (!canMail && atMs === null) return "not sent: this installation sends no mail (SMTP_URL is not set)";
	if (dueAtMs !== null && atMs === null && !hasReaders) return NOBODY;
	const isNextKnown = dueAtMs !== null && canMail && hasReaders;
	const next = isNextKnown ? html`; the next at ${ui.timeTag(dueAtMs)} or soon after` : null;
	if (atMs === null) return next === null ? "none" : html`not sent yet${next}`;
	const waiting = queued
		.filter((mail) => mail.created_at_ms === atMs && mail.due_at_ms !== null)
		.map((mail) => mail.to_address);
	const refused = listed(notice.mail_refused_to);
	const got = listed(notice.mailed_to).filter((email) => ![...waiting, ...refused].includes(email));
	const words = [
		got.length === 0 ? null : html`${ui.timeTag(atMs)} to ${addresses(got)}`,
		waiting.length === 0 ? null : html`waiting to be sent to ${addresses(waiting)}`,
		refused.length === 0
			? null
			: html`refused by the mail server for ${addresses(refused)}: check the address on the People page`,
	].filter((part) => part !== null);
	if (words.length === 0) return "not sent: everybody here has switched these mails off";
	return html`${words.map((part, index) => (index === 0 ? part : html`; ${part}`))}${next}`;
}

function listed(text: string | null): string[] {
	return text === null || text === "" ? [] : text.split(", ");
}

function addresses(emails: readonly string[]): Html {
	return html`<span class="break">${emails.join(", ")}</span>`;
}

// Conversions a day by status, of a programme or of the network.

/** Expired ones never counted for anybody: they are in the table alone. */
const SERIES: readonly { status: Status; label: string; colour: ChartSeries["colour"] }[] = [
	{ status: "APPROVED", label: "Approved", colour: "good" },
	{ status: "RECORDED", label: "Recorded", colour: "info" },
	{ status: "REVERSED", label: "Reversed", colour: "warn" },
	{ status: "REJECTED", label: "Rejected", colour: "bad" },
	{ status: "PARKED", label: "Parked", colour: "plain" },
];

export function statusChart(counts: DayCounts, dayCount: number, nowMs: number): Html {
	const days = lastDays(dayCount, nowMs);
	return chart({
		id: "status-chart",
		title: `Conversions per day, last ${dayCount} days (UTC)`,
		isStacked: true,
		empty: html`<p class="soft">No conversion has come in during the last ${dayCount} days.</p>`,
		days: days.map((day) => utcDay(day * DAY_MS)),
		series: SERIES.map(({ status, label, colour }) => ({
			label,
			colour,
			values: days.map((day) => counts.get(day)?.get(status) ?? 0),
		})),
	});
}

/** Days since 1970-01-01 (UTC), today last. */
export function lastDays(dayCount: number, nowMs: number): number[] {
	const today = Math.floor(nowMs / DAY_MS);
	return Array.from({ length: dayCount }, (_, index) => today - dayCount + 1 + index);
}

/** In the order of a conversion's life, with what the word alone does not say. */
export const STATUS_ROWS: readonly (readonly [status: Status, hint: string])[] = [
	["PARKED", "waits for the shop's confirmation"],
	["RECORDED", "waits for approval"],
	["APPROVED", ""],
	["REJECTED", ""],
	["REVERSED", ""],
	["EXPIRED", "never confirmed"],
];
