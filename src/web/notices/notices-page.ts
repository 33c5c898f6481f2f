// /programmes/:id/notices: when callbacks failed and when they recovered, why, what is still undelivered, who was told.

import { html } from "hono/html";
import { explainFailure } from "../../callbacks/failure-cause.ts";
import { MAILED_ROLES } from "../../domain/notice.ts";
import { countUndelivered, type Undelivered } from "../../store/delivery-health.ts";
import { listNotices, type ShownNotice } from "../../store/notice-list.ts";
import { findPersonByPublicId } from "../../store/people.ts";
import { addresseesOf } from "../../store/programme-people.ts";
import type { Programme } from "../../store/programmes.ts";
import { emptyState, facts, pageHeader } from "../components/blocks.ts";
import { linkButton } from "../components/forms.ts";
import { type Pages, pager } from "../components/lists.ts";
import { resendOffer } from "../components/resend-offer.ts";
import { badge, count, countOf, timeTag } from "../components/text.ts";
import { lastFailure, sayUndelivered } from "../components/trouble-words.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { cursorOf, pagesOf } from "../filter-query.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { ACCOUNT_PATH, integrationPath, noticesPath } from "../paths.ts";
import { may, programmeOf, standingOf, viewerOf } from "../viewer.ts";

const PAGE_ROWS = 20;

export async function showNotices(c: WebContext, deps: WebDeps): Promise<Response> {
	const { store, mails, clock } = deps;
	const programme = programmeOf(c);
	const list = {
		name: `notices of programme:${programme.id}`,
		path: noticesPath(programme.public_id),
		query: { before: c.req.query("before") },
		cursorName: "before",
	};
	const after = cursorOf(deps, list);
	const page = await listNotices(store.db, programme.id, { after, limit: PAGE_ROWS });
	return answerPage(c, {
		title: "Notices",
		active: "notices",
		body: renderNotices({
			programme,
			rows: page.rows,
			pages: pagesOf(deps, list, page),
			present: after === undefined ? await countUndelivered(store.db, programme.id) : null,
			nowMs: clock.nowMs(),
			csrf: csrfField(c),
			mayResend: may(c, "integrate"),
			canMail: mails.isOn,
			hasReaders: (await addresseesOf(store.db, programme.id, MAILED_ROLES)).length > 0,
			mails: mails.isOn ? await readMails(c, deps) : "Nobody is mailed: this installation sends no mail.",
		}),
	});
}

/** Whether the reader gets mails of these notices. */
async function readMails(c: WebContext, { store }: WebDeps): Promise<Content> {
	const often = "at once, then at most every 15 minutes";
	const standing = standingOf(c);
	if (standing === "staff" || !MAILED_ROLES.some((role) => role === standing)) {
		return `The programme's owners and developers are mailed ${often}; you are not.`;
	}
	const self = await findPersonByPublicId(store.db, viewerOf(c).publicId);
	if (self?.mails_callbacks_failing === 1) return `You are mailed ${often}.`;
	return html`You have switched these mails off under <a href="${ACCOUNT_PATH}#settings">Account</a>.`;
}

interface NoticesView {
	programme: Programme;
	rows: readonly ShownNotice[];
	pages: Pages;
	/** What is undelivered now: told with the newest notice alone, so null on later pages. */
	present: Undelivered | null;
	nowMs: number;
	csrf: Html;
	mayResend: boolean;
	canMail: boolean;
	/** Somebody there has a role that is mailed, wanted or not. */
	hasReaders: boolean;
	/** Whether the reader is mailed. */
	mails: Content;
}

function renderNotices(view: NoticesView): Content {
	const { programme, rows, pages } = view;
	return [
		pageHeader({
			title: "Notices",
			hint: html`A notice appears when five attempts in a row fail, when no callback succeeds for ten minutes, and when one fails permanently. ${view.mails}`,
		}),
		rows.length === 0 ? html`<div class="card">${noNotices(programme)}</div>` : null,
		...rows.map((notice, index) => noticeCard(view, notice, index === 0 ? view.present : null)),
		pager(pages),
	];
}

function noNotices(programme: Programme): Html {
	if (programme.endpoint_id !== null) {
		return emptyState({
			isAlone: true,
			title: "No notices",
			text: "If callbacks to your shop fail, you read here why and what to do.",
		});
	}
	return emptyState({
		isAlone: true,
		title: "No notices",
		text: "No Postback URL is saved, so no callbacks are sent.",
		action: linkButton({
			label: "Go to Integration",
			href: integrationPath(programme.public_id),
			tone: "primary",
		}),
	});
}

function noticeCard(view: NoticesView, notice: ShownNotice, present: Undelivered | null): Html {
	const body =
		notice.kind === "callbacks_failing"
			? failingBody(view, notice, present)
			: recoveredBody(view, notice, present);
	return html`<article class="card" id="${notice.public_id}" aria-labelledby="${notice.public_id}-title">
	<div class="section-head"><div><h2 id="${notice.public_id}-title">${title(notice)}</h2></div><div class="row">${state(notice)}</div></div>
	<div class="card-body">${body}</div>
</article>`;
}

function title(notice: ShownNotice): string {
	switch (notice.kind) {
		case "callbacks_failing":
			return notice.ended_at_ms === null ? "Callbacks are failing" : "Callbacks failed";
		case "callbacks_working_again":
			return "Callbacks recovered";
		default:
			return notice.kind satisfies never;
	}
}

function state({ kind, ended_at_ms }: ShownNotice): Html {
	if (kind === "callbacks_working_again") return badge("good", "Recovered");
	return ended_at_ms === null ? badge("bad", "Ongoing") : badge("plain", "Resolved");
}

function failingBody(view: NoticesView, notice: ShownNotice, present: Undelivered | null): Html {
	const { programme, nowMs } = view;
	const isOpen = notice.ended_at_ms === null;
	const { advice } = explainFailure(notice);
	const rows: [term: string, value: Content][] = [
		["Since", timeTag(notice.opened_at_ms)],
		["Until", until(notice)],
		["Failed attempts", failedAttempts(notice.failed_attempts)],
		[
			"Failed permanently",
			notice.failures === 0 ? "none" : `${countOf(notice.failures, "callback")}; no more retries`,
		],
		["Last cause", lastFailure(notice, programme.public_id)],
	];
	if (isOpen && present !== null) {
		rows.push(["Undelivered now", sayUndelivered(present, programme.public_id, nowMs)]);
	}
	if (isOpen) rows.push(["What to do", view.mayResend ? `${advice} ${AFTERWARDS}` : FOR_OTHERS]);
	rows.push(["Mail", mailed(notice, view)]);
	return html`${facts(rows)}${isOpen ? offerOf(view, present) : null}`;
}

const AFTERWARDS = "Waiting callbacks are then sent automatically; resend the failed ones.";
const FOR_OTHERS =
	"The programme's owners and developers can put it right. Waiting callbacks are then sent automatically.";

function until({ ended_at_ms: endedAtMs, ended_by: by }: ShownNotice): Content {
	if (endedAtMs === null) return "Ongoing";
	return html`${timeTag(endedAtMs)}${by === "removal" ? ", when the Postback URL was removed" : null}`;
}

function failedAttempts(attempts: number): string {
	return attempts === 1 ? "1" : `${count(attempts)} in a row`;
}

function recoveredBody(view: NoticesView, notice: ShownNotice, present: Undelivered | null): Html {
	const rows: [term: string, value: Content][] = [["Since", timeTag(notice.opened_at_ms)]];
	if (present !== null) rows.push(["Still undelivered", stillUndelivered(view, present)]);
	rows.push(["Mail", mailed(notice, view)]);
	return html`${facts(rows)}${offerOf(view, present)}`;
}

function offerOf(view: NoticesView, present: Undelivered | null): Html | null {
	return present === null ? null : resendOffer({ ...view, failed: present.failed });
}

function stillUndelivered({ programme, nowMs }: NoticesView, present: Undelivered): Content {
	if (present.waiting === 0 && present.failed === 0) return "none";
	return sayUndelivered(present, programme.public_id, nowMs);
}

const NOBODY = "not sent: nobody to mail yet. The programme has no owner or developer";

function mailed(
	{ mailed_at_ms, mailed_to, mail_refused_to, mail_due_at_ms }: ShownNotice,
	{ canMail, hasReaders }: NoticesView,
): Content {
	if (!canMail && mailed_at_ms === null)
		return "not sent: this installation sends no mail (SMTP_URL is not set)";
	if (mail_due_at_ms !== null && mailed_at_ms === null && !hasReaders) return NOBODY;
	const isNextKnown = mail_due_at_ms !== null && canMail && hasReaders;
	const next = isNextKnown ? html`; the next at ${timeTag(mail_due_at_ms)} or soon after` : null;
	if (mailed_at_ms === null) return next === null ? "none" : html`not sent yet${next}`;
	const refused =
		mail_refused_to === null
			? null
			: html`refused by the mail server for <span class="break">${mail_refused_to}</span>`;
	if (mailed_to === "") {
		if (refused === null) return "not sent: everybody here has switched these mails off";
		return html`${timeTag(mailed_at_ms)}: ${refused}; tried again for a day${next}`;
	}
	const to = html`${timeTag(mailed_at_ms)} to <span class="break">${mailed_to ?? "the programme's people"}</span>`;
	return html`${to}${refused === null ? null : html`; ${refused}`}${next}`;
}
