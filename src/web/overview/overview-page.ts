// /programmes/:id/overview: how many conversions in which status, what they are worth, and whether callbacks work.

import { html } from "hono/html";
import { type CallbackHealth, readCallbackHealth } from "../../callbacks/health.ts";
import type { StatusTotal, Tally, TallyLook } from "../../conversions/tally.ts";
import type { Status } from "../../domain/conversion.ts";
import { currencyDigits, formatMinor } from "../../domain/money.ts";
import { countFailed } from "../../store/delivery-health.ts";
import { hasConversions } from "../../store/programme-list.ts";
import type { Programme } from "../../store/programmes.ts";
import { emptyState, padded, pageHeader, section } from "../components/blocks.ts";
import { statusBadge } from "../components/conversion-cells.ts";
import { linkButton } from "../components/forms.ts";
import { dataTable } from "../components/lists.ts";
import { resendOffer } from "../components/resend-offer.ts";
import { amount, count, timeTag } from "../components/text.ts";
import { countUndelivered } from "../components/trouble-words.ts";
import { csrfField } from "../csrf.ts";
import type { PageDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import type { Content, Html } from "../html.ts";
import { healthStrip } from "../integration/health-section.ts";
import { answerPage } from "../page.ts";
import { conversionsPath, integrationPath, overviewPath, withQuery } from "../paths.ts";
import { may, programmeOf } from "../viewer.ts";
import { STATUS_ROWS, statusChart } from "./status-chart.ts";

export async function showOverview(c: WebContext, deps: PageDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	const view: OverviewView = {
		programme,
		nowMs,
		look: await deps.tallies.look(programme.id),
		isNew: !(await hasConversions(db, programme.id)),
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
	/** How many callbacks failed for good and were not resent; as far as they are counted. */
	failed: number;
	mayResend: boolean;
	csrf: Html;
}

function renderOverview(view: OverviewView): Content {
	const { programme, isNew, health } = view;
	const integration = integrationPath(programme.public_id);
	const header = pageHeader({
		title: "Overview",
		hint: "Conversions and money leave tests out. Callbacks count every attempt, also for tests.",
	});
	if (isNew) {
		return [
			header,
			html`<div class="card">${emptyState({
				isAlone: true,
				title: "No conversion yet",
				text: "Issue an API key, sign a request and report a sale, or send a test conversion: the Integration page takes you through it.",
				action: linkButton({ label: "Go to Integration", href: integration, tone: "primary" }),
			})}</div>`,
		];
	}
	return [
		header,
		totals(programme, view.look, view.nowMs),
		section({
			id: "callbacks",
			title: "Callbacks to your shop",
			hint: programme.endpoint_id === null ? withoutUrl(health) : "How your server responds.",
			actions: linkButton({
				label: programme.endpoint_id === null ? "Set up callbacks" : "All callbacks",
				href: `${integration}#${programme.endpoint_id === null ? "callback" : "deliveries"}`,
				isSmall: true,
			}),
			body: padded(healthStrip(health), failedPart(view)),
		}),
	];
}

function withoutUrl({ listenedAtMs }: CallbackHealth): Content {
	if (listenedAtMs === null) return "No Postback URL is saved, so no callbacks are sent.";
	return html`No Postback URL is saved: callbacks go to <code>listen</code> only, while it runs.`;
}

/** What is left when callbacks work again. While they fail, every page says so at its top. */
function failedPart(view: OverviewView): Content {
	const { failed, health } = view;
	if (failed === 0 || health.trouble?.isSerious === true) return null;
	return html`<p>${failed === 1 ? "1 callback" : `${countUndelivered(failed)} callbacks`} failed permanently and ${failed === 1 ? "was" : "were"} not resent.</p>${resendOffer(view)}`;
}

function totals(programme: Programme, { count: tally, isCounting }: TallyLook, nowMs: number): Html {
	const path = overviewPath(programme.public_id);
	const again = isCounting
		? html`hx-get="${path}/totals" hx-trigger="load delay:1s" hx-swap="outerHTML"`
		: null;
	if (tally === null) {
		return html`<div id="totals" class="stack" ${again}>${section({
			id: "conversions",
			title: "Conversions",
			body: emptyState({
				title: "Being counted",
				text: "This programme has many conversions. Adding them up takes a few seconds the first time.",
				action: linkButton({ label: "Look again", href: path }),
			}),
		})}</div>`;
	}
	const counted = html`Counted ${timeTag(tally.countedAtMs)}${isCounting ? "; a newer count is under way" : ""}.`;
	return html`<div id="totals" class="stack" ${again}>${section({
		id: "conversions",
		title: "Conversions",
		hint: counted,
		body: padded(statusChart(tally.days, DAYS_SHOWN, nowMs)),
	})}${section({
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
		amount(formatMinor(minor, digits.ok ? digits.value : 0), programme.currency);
	const rows = STATUS_ROWS.flatMap(([status, hint]): MoneyRow[] => {
		const total = tally.totals.get(status);
		return total === undefined ? [] : [{ status, hint, total }];
	});
	return dataTable<MoneyRow>({
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
			{ title: "Conversions", isNumber: true, cell: ({ total }) => count(total.count) },
			{ title: "Basket", isNumber: true, cell: ({ total }) => money(total.basketMinor) },
			{ title: "Commission", isNumber: true, cell: ({ total }) => money(total.commissionMinor) },
			{ title: "Network fee", isNumber: true, cell: ({ total }) => money(total.feeMinor) },
		],
	});
}
