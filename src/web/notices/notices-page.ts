// /programmes/:id/notices: when callbacks failed and when they worked again, why, and who was told.

import { html } from "hono/html";
import { explainFailure } from "../../callbacks/failure-cause.ts";
import { type ListedNotice, listNotices } from "../../store/notice-list.ts";
import type { Programme } from "../../store/programmes.ts";
import { emptyState, facts, pageHeader } from "../components/blocks.ts";
import { linkButton } from "../components/forms.ts";
import { type Pages, pager } from "../components/lists.ts";
import { badge, countOf, timeTag } from "../components/text.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { cursorOf, pagesOf } from "../filter-query.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { deliveryPath, integrationPath, noticesPath } from "../paths.ts";
import { programmeOf } from "../viewer.ts";

const PAGE_ROWS = 20;

export async function showNotices(c: WebContext, deps: WebDeps): Promise<Response> {
	const { store, mails } = deps;
	const programme = programmeOf(c);
	const list = {
		name: `notices of programme:${programme.id}`,
		path: noticesPath(programme.public_id),
		query: { before: c.req.query("before") },
		cursorName: "before",
	};
	const page = await listNotices(store.db, programme.id, { after: cursorOf(deps, list), limit: PAGE_ROWS });
	return answerPage(c, {
		title: "Notices",
		active: "notices",
		body: renderNotices({
			programme,
			rows: page.rows,
			pages: pagesOf(deps, list, page),
			canMail: mails.isOn,
		}),
	});
}

interface NoticesView {
	programme: Programme;
	rows: readonly ListedNotice[];
	pages: Pages;
	canMail: boolean;
}

function renderNotices({ programme, rows, pages, canMail }: NoticesView): Content {
	return [
		pageHeader({
			title: "Notices",
			hint: "What the owners are told about callbacks: at once when the first fails, then at most every 15 minutes.",
		}),
		rows.length === 0 ? html`<div class="card">${noNotices(programme)}</div>` : null,
		...rows.map((notice) => noticeCard(notice, programme.public_id, canMail)),
		pager(pages),
	];
}

function noNotices(programme: Programme): Html {
	if (programme.endpoint_id !== null) {
		return emptyState({
			isAlone: true,
			title: "Nothing to tell",
			text: "No callback has finally failed. If one does, you read here why, and what to do.",
		});
	}
	return emptyState({
		isAlone: true,
		title: "Nothing to tell",
		text: "No Postback URL is saved, so no callback is sent. Save one to be told of every status change.",
		action: linkButton({
			label: "Go to Integration",
			href: integrationPath(programme.public_id),
			tone: "primary",
		}),
	});
}

function noticeCard(notice: ListedNotice, programmeId: string, canMail: boolean): Html {
	return html`<article class="card" id="${notice.public_id}" aria-labelledby="${notice.public_id}-title">
	<div class="section-head"><div><h2 id="${notice.public_id}-title">${title(notice)}</h2></div><div class="row">${state(notice)}</div></div>
	<div class="card-body">${notice.kind === "callbacks_failing" ? failingBody(notice, programmeId, canMail) : workingBody(notice, canMail)}</div>
</article>`;
}

function title(notice: ListedNotice): string {
	switch (notice.kind) {
		case "callbacks_failing":
			return notice.ended_at_ms === null ? "Callbacks are failing" : "Callbacks failed";
		case "callbacks_working_again":
			return "Callbacks work again";
		default:
			return notice.kind satisfies never;
	}
}

function state({ kind, ended_at_ms }: ListedNotice): Html {
	if (kind === "callbacks_working_again") return badge("good", "Working");
	return ended_at_ms === null ? badge("bad", "Open") : badge("plain", "Over");
}

function failingBody(notice: ListedNotice, programmeId: string, canMail: boolean): Html {
	const { cause, advice } = explainFailure(notice.last_verdict, notice.last_http_status);
	const last =
		notice.lastDeliveryPublicId === null
			? null
			: html` <a href="${deliveryPath(programmeId, notice.lastDeliveryPublicId)}">Open that delivery</a>`;
	return html`${facts([
		["Since", timeTag(notice.opened_at_ms)],
		["Until", notice.ended_at_ms === null ? "still failing" : timeTag(notice.ended_at_ms)],
		["Finally failed", countOf(notice.failures, "callback")],
		["Last cause", html`${timeTag(notice.updated_at_ms)}: ${cause}${last}`],
		["What to do", html`${advice} Then send the failed ones again from the list of postbacks.`],
		["Mail", mailed(notice, canMail)],
	])}<p>${linkButton({ label: "Failed postbacks", href: `${integrationPath(programmeId)}?state=failed#deliveries`, isSmall: true })}</p>`;
}

function workingBody(notice: ListedNotice, canMail: boolean): Html {
	return facts([
		["Since", timeTag(notice.opened_at_ms)],
		["Mail", mailed(notice, canMail)],
	]);
}

function mailed({ mailed_at_ms, mailed_to, mail_due_at_ms }: ListedNotice, canMail: boolean): Content {
	if (!canMail && mailed_at_ms === null)
		return "not sent: no mail can be sent from here (SMTP_URL is not set)";
	const next =
		mail_due_at_ms === null || !canMail ? null : html`; the next at ${timeTag(mail_due_at_ms)} or soon after`;
	if (mailed_at_ms === null) return next === null ? "none" : html`not sent yet${next}`;
	if (mailed_to === "") return "not sent: everybody here has switched these mails off";
	return html`${timeTag(mailed_at_ms)} to <span class="break">${mailed_to ?? "the owners"}</span>${next}`;
}
