// Shows the page /programmes/:id/overview: conversions that wait for a decision, counts and amounts by status, the
// health of callbacks, and the notices of when callbacks failed and recovered.

import { type CallbackHealth, readCallbackHealth } from "../../callbacks/health.ts";
import type { Tally } from "../../conversions/tally.ts";
import { formatMinor } from "../../domain/money.ts";
import { setFailedAside } from "../../programmes/resend.ts";
import { listConversions } from "../../store/queries/conversion-list.ts";
import { ALL, countFailed } from "../../store/queries/delivery-health.ts";
import { listNotices, type ShownNotice } from "../../store/queries/notices.ts";
import { hasConversions } from "../../store/queries/programme-list.ts";
import { ask } from "../ask.ts";
import {
	batchMessage,
	callbacksOf,
	countUndelivered,
	deliveriesPath,
	lastFailure,
} from "../conversion-ui.ts";
import { BY_DAY, digitsOf } from "../conversions/list-query.ts";
import { readTextFields } from "../form.ts";
import { healthStrip } from "../integration/health-section.ts";
import { readRows, showList } from "../list.ts";
import {
	actorOf,
	answerPage,
	leadTo,
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
	deliveryPath,
	integrationPath,
	overviewPath,
	peoplePath,
	withQuery,
} from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { countedPart, moneyTable, statusChart } from "./totals-page.ts";

const DAYS_SHOWN = 30;
const NOTICES_SHOWN = 20;

export async function showOverview(c: WebContext, deps: PageDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { db } = deps.store;
	const failed = await countFailed(db, programme.receiver_id);
	// A programme is new if it has no conversions, not even tests.
	const isNew = failed === 0 && !(await hasConversions(db, programme.id));
	return answerPage(c, {
		title: "Overview",
		active: "overview",
		body: [
			ui.pageHeader({
				title: "Overview",
				hint: "Tests are left out.",
			}),
			failedPart(c, failed, deps.clock.nowMs()),
			isNew
				? firstStep(c)
				: [
						await totalsParts(c, deps),
						callbacksPart(c, await readCallbackHealth(db, programme, deps.clock.nowMs())),
					],
			await noticesPart(c, deps),
		],
	});
}

/**
 * Shows the first step of a new programme. An owner is asked to invite a developer, because owners rarely
 * integrate a shop themselves.
 */
function firstStep(c: WebContext): Html {
	const programmeId = programmeOf(c).public_id;
	const isOwner = standingOf(c) === "owner";
	const invite = { label: "Invite your developer", href: `${peoplePath(programmeId)}#invite` };
	const go = { label: "Go to Integration", href: integrationPath(programmeId) };
	return html`<div class="card">${ui.emptyState({
		isAlone: true,
		title: "No conversion yet",
		text: isOwner
			? "Your shop's developer connects the shop: invite them. Sales that wait for your decision then appear here."
			: "Issue an API key, sign a request and report a sale, or send a test conversion: the Integration page takes you through it.",
		action: isOwner
			? [ui.linkButton({ ...invite, tone: "primary" }), ui.linkButton(go)]
			: ui.linkButton({ ...go, tone: "primary" }),
	})}</div>`;
}

async function totalsParts(c: WebContext, { tallies, store, clock }: PageDeps): Promise<Content> {
	const { id, public_id: programmeId, currency } = programmeOf(c);
	const zone = c.get("network").timeZone;
	const look = await tallies.look({ programmeId: id, zone });
	const oldest = await listConversions(store.reader, {
		programmeId: id,
		status: "RECORDED",
		isTest: false,
		sort: { by: "recorded", direction: "asc" },
		limit: 1,
	});
	const hrefOf = (status: string) => withQuery(conversionsPath(programmeId), { status });
	return countedPart(overviewPath(programmeId), look, (tally, counted) => [
		waitingPart(c, tally, oldest.rows[0]?.window_ends_at_ms ?? null, hrefOf("RECORDED")),
		ui.section({
			id: "conversions",
			title: "Conversions",
			hint: html`${counted} ${BY_DAY}`,
			body: ui.padded(statusChart(tally.days, DAYS_SHOWN, { nowMs: clock.nowMs(), zone })),
		}),
		ui.section({
			id: "money",
			title: "Money by status",
			hint: "Since the programme began.",
			body: moneyTable(new Map([[currency, tally.totals]]), hrefOf),
		}),
	]);
}

/** Shows how many conversions wait for a decision, and when the oldest is approved automatically. */
function waitingPart(c: WebContext, { totals }: Tally, endsAtMs: number | null, href: string): Html | null {
	const waiting = totals.get("RECORDED");
	if (waiting === undefined || waiting.count === 0) return null;
	const { currency } = programmeOf(c);
	const worth = ui.amount(formatMinor(waiting.basketMinor, digitsOf(currency)), currency);
	const until =
		endsAtMs === null ? null : html` The oldest is approved automatically on ${ui.dayTag(endsAtMs)}.`;
	return ui.section({
		id: "waiting",
		title: `${ui.countOf(waiting.count, "conversion")} ${waiting.count === 1 ? "waits" : "wait"} for a decision`,
		hint: html`Baskets of ${worth}.${until}`,
		actions: ui.linkButton({ label: may(c, "decide") ? "Decide" : "See them", href, isSmall: true }),
		body: null,
	});
}

/**
 * Shows the number of permanently failed callbacks until they are resent or set aside. Links in mails lead to
 * this part.
 */
function failedPart(c: WebContext, failed: number, nowMs: number): Content {
	if (failed === 0) return null;
	const { public_id: programmeId, endpoint_id: endpointId } = programmeOf(c);
	const resend = ui.buttonForm({
		action: `${integrationPath(programmeId)}/resend-failed?state=pending`,
		label: failed === 1 ? "Resend it" : `Resend all ${countUndelivered(failed)}`,
		tone: "primary",
	});
	const aside = ui.buttonForm({
		action: `${overviewPath(programmeId)}/set-aside`,
		hidden: { until: String(nowMs) },
		label: "Set aside",
	});
	return html`<section id="failed" class="message message-warn" aria-label="Failed callbacks"><div class="stack-tight">
	<p><strong><a href="${deliveriesPath(programmeId, "failed")}">${callbacksOf(failed)}</a> failed permanently</strong> and ${failed === 1 ? "was" : "were"} not resent. ${may(c, "integrate") ? "Resending is safe: your receiver ignores events it has already processed. “Set aside” only removes this reminder." : null}</p>
	${may(c, "integrate") ? html`<div class="row">${endpointId === null ? null : resend}${aside}</div>` : null}
</div></section>`;
}

export async function setFailuresAside(c: WebContext, deps: PageDeps): Promise<Response> {
	const programme = programmeOf(c);
	const programmeId = programme.public_id;
	const { until } = await readTextFields(c, ["until"]);
	const asked = { receiver: programme, actor: actorOf(c) };
	const done = await setFailedAside(deps, asked, Number(until) || 0);
	if (!done.ok) return leadTo(c, overviewPath(programmeId), done.fault.detail, "bad");
	const left = await countFailed(deps.store.db, programme.receiver_id, ALL);
	const aside = "set aside, and still in the list of failed callbacks under Integration";
	const [tone, text] = batchMessage(done.value, aside, "There was nothing to set aside.", left);
	return leadTo(c, overviewPath(programmeId), text, tone);
}

function callbacksPart(c: WebContext, health: CallbackHealth): Html {
	const programme = programmeOf(c);
	const isSetUp = programme.endpoint_id !== null;
	const without =
		health.listenedAtMs === null
			? "No Postback URL is saved, so no callbacks are sent."
			: html`No Postback URL is saved: callbacks go to <code>listen</code> only, while it runs.`;
	return ui.section({
		id: "callbacks",
		title: "Callbacks to your shop",
		hint: isSetUp ? "How your server responds." : without,
		actions: ui.linkButton({
			label: isSetUp ? "All callbacks" : "Set up callbacks",
			href: `${integrationPath(programme.public_id)}#${isSetUp ? "deliveries" : "callback"}`,
			isSmall: true,
		}),
		body: ui.padded(healthStrip(health, viewerOf(c).kind === "staff")),
	});
}

/**
 * Shows the list of notices. The list is left out if there are no notices and no Postback URL, because then no
 * callback can fail.
 */
async function noticesPart(c: WebContext, deps: PageDeps): Promise<Content> {
	const { store, mails } = deps;
	const programme = programmeOf(c);
	const asked = ask(c, { path: overviewPath(programme.public_id), hash: "#notices" });
	const page = await readRows(
		deps,
		asked,
		`notices of programme:${programme.id}`,
		(at) => listNotices(store.db, programme.receiver_id, at),
		NOTICES_SHOWN,
	);
	if (page.rows.length === 0 && programme.endpoint_id === null) return null;
	const mailed = mails.isOn
		? html`The programme's owners and developers are mailed at once, then at most every 15 minutes. They can switch it off under <a href="${ACCOUNT_PATH}#settings">Account</a>.`
		: "No mail is sent: this installation has no mail server.";
	return ui.section({
		id: "notices",
		title: "Notices",
		hint: html`A notice appears when five attempts in a row fail, when no callback succeeds for ten minutes, and when one fails permanently. ${mailed}`,
		body: showList<ShownNotice>({
			asked,
			page,
			noun: "notice",
			caption: "Notices, the newest first",
			rowId: ({ public_id }) => public_id,
			none: {
				title: "No notices",
				text: "If callbacks to your shop fail, this list says why and what to do.",
			},
			columns: [
				{ title: "Notice", namesRow: true, cell: noticeCell },
				{ title: "Failed", cell: failedCell },
				{
					title: "Cause",
					cell: (notice) => lastFailure(notice, (id) => deliveryPath(programme.public_id, id)),
				},
				...(mails.isOn ? [{ title: "Mail", cell: mailCell }] : []),
			],
		}),
	});
}

function noticeCell({ opened_at_ms, ended_at_ms, ended_by }: ShownNotice): Html {
	const since = ui.timeTag(opened_at_ms);
	if (ended_at_ms === null) {
		return html`${ui.badge("bad", "Callbacks are failing")}<span class="secondary">since ${since}</span>`;
	}
	const until = ui.timeTag(ended_at_ms);
	return ended_by === "removal"
		? html`${ui.badge("plain", "Callbacks failed")}<span class="secondary">from ${since} to ${until}, when the Postback URL was removed</span>`
		: html`${ui.badge("good", "Callbacks recovered")}<span class="secondary">failing from ${since} to ${until}</span>`;
}

function failedCell({ failed_attempts: attempts, failures }: ShownNotice): Content {
	const inARow = attempts === 1 ? "1 attempt" : `${ui.count(attempts)} attempts in a row`;
	if (failures === 0) return inARow;
	return html`${inARow}<span class="secondary">${ui.countOf(failures, "callback")} permanently; no more retries</span>`;
}

function mailCell({
	mailed_at_ms: atMs,
	mailed_to,
	mail_refused_to,
	mail_due_at_ms: dueAtMs,
}: ShownNotice): Content {
	const addresses = (emails: string) => html`<span class="break">${emails}</span>`;
	if (atMs === null && dueAtMs === null) return "none";
	if (atMs !== null && !mailed_to) return "not sent: all owners and developers have switched these mails off";
	return [
		atMs === null ? null : html`sent ${ui.timeTag(atMs)} to ${addresses(mailed_to ?? "")}`,
		mail_refused_to
			? html`; refused by the mail server for ${addresses(mail_refused_to)}: check the address on the People page`
			: null,
		dueAtMs === null
			? null
			: html`${atMs === null ? "" : "; the next one "}will be sent after ${ui.timeTag(dueAtMs)}`,
	];
}
