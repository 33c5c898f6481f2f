// /programmes/:id/overview: how many conversions in which status, what they are worth, and whether callbacks work.

import { html } from "hono/html";
import { explainFailure } from "../../callbacks/failure-cause.ts";
import { type CallbackHealth, readCallbackHealth } from "../../callbacks/health.ts";
import type { TallyLook } from "../../conversions/tally.ts";
import { findOpenNotice } from "../../store/notice-list.ts";
import type { Notice } from "../../store/notices.ts";
import { hasConversions } from "../../store/programme-list.ts";
import type { Programme } from "../../store/programmes.ts";
import { emptyState, message, padded, pageHeader, section } from "../components/blocks.ts";
import { linkButton } from "../components/forms.ts";
import { count, timeTag } from "../components/text.ts";
import type { PageDeps, WebContext } from "../deps.ts";
import type { Content, Html } from "../html.ts";
import { healthStrip } from "../integration/health-section.ts";
import { answerPage } from "../page.ts";
import { integrationPath, noticesPath, overviewPath } from "../paths.ts";
import { programmeOf } from "../viewer.ts";
import { moneyTable } from "./money-table.ts";
import { statusChart } from "./status-chart.ts";

export async function showOverview(c: WebContext, deps: PageDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const nowMs = deps.clock.nowMs();
	const openNotice = await findOpenNotice(db, programme.id);
	const view: OverviewView = {
		programme,
		nowMs,
		openNotice,
		look: await deps.tallies.look(programme.id),
		isNew: !(await hasConversions(db, programme.id)),
		health: await readCallbackHealth(db, programme.id, nowMs),
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
	openNotice: Notice | undefined;
	look: TallyLook;
	/** Nothing was ever reported, not even a test. */
	isNew: boolean;
	health: CallbackHealth;
}

function renderOverview(view: OverviewView): Content {
	const { programme, openNotice, isNew, health } = view;
	const integration = integrationPath(programme.public_id);
	const header = pageHeader({
		title: "Overview",
		hint: "Test conversions are left out of every number here.",
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
		openNotice === undefined ? null : failingMessage(openNotice, programme),
		totals(programme, view.look, view.nowMs),
		section({
			id: "callbacks",
			title: "Callbacks to the shop",
			hint:
				programme.endpoint_id === null
					? "No Postback URL is saved, so none is sent."
					: "How the shop answers.",
			actions: linkButton({
				label: programme.endpoint_id === null ? "Set up callbacks" : "Postbacks sent",
				href: `${integration}#${programme.endpoint_id === null ? "callback" : "deliveries"}`,
				isSmall: true,
			}),
			body: padded(healthStrip(health)),
		}),
	];
}

function failingMessage(notice: Notice, { public_id: programmeId }: Programme): Html {
	const { cause, advice } = explainFailure(notice.last_verdict, notice.last_http_status);
	const failed = notice.failures === 1 ? "1 callback" : `${count(notice.failures)} callbacks`;
	return message(
		"bad",
		html`<strong>Callbacks are failing</strong> since ${timeTag(notice.opened_at_ms)}: ${failed} finally failed. The last one: ${cause} ${advice} <a href="${noticesPath(programmeId)}">What to do</a>`,
	);
}

function totals(programme: Programme, { tally, isCounting }: TallyLook, nowMs: number): Html {
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
		body: padded(statusChart(tally, nowMs)),
	})}${section({
		id: "money",
		title: "Money by status",
		hint: "Since the programme began.",
		body: moneyTable(programme, tally),
	})}</div>`;
}
