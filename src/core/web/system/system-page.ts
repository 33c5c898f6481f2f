// Shows the page /system, on which staff see the health of the installation. Problems come first, such as late chores
// and processes that stopped reporting. The queue, mail and disk space follow. Staff hold and release all callbacks
// here.

import { lastMailFailure, type WatchedState } from "../../../watch/checks.ts";
import { sayBytes } from "../../domain/bytes.ts";
import { isSilent, sumEngines } from "../../domain/process.ts";
import type { Warning } from "../../domain/warning.ts";
import { changeHold } from "../../programmes/callback-hold.ts";
import { countFailing } from "../../store/queries/delivery-health.ts";
import type { DeliveryPause } from "../../store/queries/delivery-pause.ts";
import { type Figures, MAX_COUNTED_MAILS, readFigures } from "../../store/queries/figures.ts";
import { listUnsentMails, type MailState } from "../../store/queries/mail-queue.ts";
import type { KnownBackups } from "../../store/queries/system.ts";
import { readTextFields } from "../form.ts";
import { actorOf, answerPage, leadTo, type WebContext, type WebDeps } from "../page.ts";
import {
	AUDIT_PATH,
	HOLD_PATH,
	NETWORK_PATH,
	OPERATIONS_PATH,
	PARTNERS_PATH,
	PERSONAL_DATA_PATH,
	PROGRAMMES_PATH,
	RESEND_PATH,
	SYSTEM_PATH,
} from "../paths.ts";
import * as ui from "../ui.ts";
import { countOf, type Html, html } from "../ui.ts";
import { arrivalOf } from "../visitor.ts";

const UNSENT_SHOWN = 20;

export async function showSystem(c: WebContext, deps: WebDeps): Promise<Response> {
	const { store, clock, system, installation } = deps;
	await installation.read();
	const state = installation.state();
	const { schema, disk, backups } = state;
	const figures = await readFigures(store, clock.nowMs());
	const warnings = installation.warningsFor(arrivalOf(c));
	const body = html`${ui.pageHeader({
		title: "System",
		hint: `Ringback ${system.version} on ${store.kind === "sqlite" ? "SQLite" : "PostgreSQL"}. This page was answered by process ${system.instance}.`,
		actions: ui.linkButton({ label: "Operations guide", href: OPERATIONS_PATH }),
	})}${systemTabs("status")}${warningSection(warnings, figures)}${queueSection(state, figures)}${mailSection(deps, state, figures)}${unsentSection(await listUnsentMails(store.db, UNSENT_SHOWN))}${ui.section(
		{
			id: "database",
			title: "Database",
			body: ui.padded(
				ui.facts([
					["Schema", schemaWords(schema)],
					["Size", sayBytes(figures.databaseBytes)],
					[
						"Free room",
						disk === null
							? "Not known here: check the disk of the database server."
							: `${sayBytes(disk.freeBytes)} of ${sayBytes(disk.sizeBytes)}`,
					],
					["Last backup", backupWords(backups)],
				]),
			),
		},
	)}`;
	return answerPage(c, { title: "System", active: "system", body });
}

function warningSection(warnings: readonly Warning[], { failing, failingPartners }: Figures): Html {
	const shops = failingPoint(countFailing(failing), "shop", PROGRAMMES_PATH);
	const partners = failingPoint(countFailing(failingPartners), "partner", PARTNERS_PATH);
	const count = countFailing(failing) + countFailing(failingPartners);
	return ui.section({
		id: "warnings",
		title: "Problems",
		body: ui.padded(
			warnings.length + count === 0
				? ui.message("good", "No problems found.")
				: html`<ul class="points">${warnings.map(({ title, text }) => html`<li><strong>${title}.</strong> ${ui.withCode(text)}</li>`)}${shops}${partners}</ul>`,
		),
	});
}

function failingPoint(count: number, noun: "shop" | "partner", path: string): Html | null {
	if (count === 0) return null;
	return html`<li><strong>Callbacks to ${ui.countOf(count, noun)} are failing.</strong> <a href="${path}">See which, and why</a></li>`;
}

function queueSection(
	{ processes, pause, nowMs }: WatchedState,
	{ queued, failing, failingPartners }: Figures,
): Html {
	const engines = sumEngines(processes, nowMs);
	const running = processes.filter((record) => !isSilent(record, nowMs));
	return ui.section({
		id: "queue",
		title: "Callbacks and processes",
		actions: holdButton(pause),
		body: ui.statStrip([
			{
				label: "In the queue",
				value: ui.count(queued),
				hint:
					pause === null
						? "due now or later, retries included"
						: `held; ${ui.count(pause.due)} would be sent at once`,
			},
			{
				label: "Oldest due",
				value:
					engines === null || pause !== null
						? "not known"
						: engines.oldestDueAtMs === null
							? "none"
							: ui.timeTag(engines.oldestDueAtMs),
				hint:
					engines === null
						? "no process delivers"
						: pause !== null
							? "while callbacks are held, no process looks"
							: `in ${ui.countOf(engines.programmesDue, "programme")}`,
			},
			{ label: "Being sent", value: ui.count(engines?.inHand ?? 0), hint: "right now, or next" },
			{
				label: "Programmes failing",
				value: ui.count(countFailing(failing)),
				hint: "listed under Programmes",
			},
			{
				label: "Partners failing",
				value: ui.count(countFailing(failingPartners)),
				hint: "listed under Partners",
			},
			{
				label: "Processes",
				value: ui.count(running.length),
				hint: [...new Set(running.map(({ version }) => `version ${version}`))].join(", "),
			},
		]),
	});
}

/**
 * Returns the button that holds or releases all callbacks. The confirmation says how many callbacks will be
 * sent at once.
 */
function holdButton(pause: DeliveryPause | null): Html {
	const ask =
		pause === null
			? "Hold all callbacks? No shop is told anything until you release them."
			: `Release all callbacks? ${countOf(pause.due, "callback")} will be sent at once, and ${ui.count(pause.waiting - pause.due)} later, when they are due.`;
	return ui.buttonForm({
		action: HOLD_PATH,
		hidden: { to: pause === null ? "held" : "released" },
		label: pause === null ? "Hold all callbacks" : "Release all callbacks",
		confirm: ask,
	});
}

export async function hold(c: WebContext, deps: WebDeps): Promise<Response> {
	const { to } = await readTextFields(c, ["to"]);
	if (to !== "held" && to !== "released") {
		return leadTo(c, SYSTEM_PATH, "Nothing was changed. Use the button on this page.", "bad");
	}
	const changed = await changeHold(deps, actorOf(c), to);
	if (!changed.ok) return leadTo(c, SYSTEM_PATH, changed.fault.detail, "bad");
	const text =
		to === "held" ? "All callbacks are held. Those under way are finished." : "Callbacks are sent again.";
	return leadTo(c, SYSTEM_PATH, changed.value === null ? `${text} Nothing had to be changed.` : text);
}

function mailSection(
	{ mailer }: WebDeps,
	{ processes }: WatchedState,
	{ waitingMails, unmailedNotices }: Figures,
): Html {
	const failure = lastMailFailure(processes);
	return ui.section({
		id: "mail",
		title: "Mail",
		actions: ui.linkButton({ label: "Send a test mail", href: `${NETWORK_PATH}#mail` }),
		body: ui.padded(
			ui.facts([
				["Mail server", mailer === null ? "Off: SMTP_URL is not set." : "Set."],
				["Waiting mails", ui.countUpTo(waitingMails, MAX_COUNTED_MAILS)],
				mailer === null
					? [
							"Notices not mailed",
							`${ui.countUpTo(unmailedNotices, MAX_COUNTED_MAILS)}, because mail is off. They are on each programme's page.`,
						]
					: ["Notices to be mailed", ui.countUpTo(unmailedNotices, MAX_COUNTED_MAILS)],
				[
					"Last failure",
					failure === null
						? "None since the last accepted mail."
						: html`${ui.timeTag(failure.atMs)} <span class="break">${failure.reason}</span>`,
				],
			]),
		),
	});
}

/** Lists the mails that the mail server did not accept, or returns null if there are none. */
function unsentSection(mails: readonly MailState[]): Html | null {
	if (mails.length === 0) return null;
	return ui.section({
		id: "unsent",
		title: "Mails that were not accepted",
		hint: "Of the last seven days. For those that were given up, correct the address, or tell the person in another way.",
		body: ui.dataTable<MailState>({
			caption: "Mails that the mail server did not accept, those that are tried again first",
			rows: mails,
			stacks: true,
			empty: null,
			columns: [
				{ title: "To", namesRow: true, cell: ({ to_address }) => ui.emailText(to_address) },
				{ title: "Subject", cell: ({ subject }) => html`<span class="break">${subject}</span>` },
				{ title: "Next try", cell: nextTry },
				{
					title: "What the mail server said",
					cell: ({ refusal }) => html`<span class="break">${refusal}</span>`,
				},
			],
		}),
	});
}

function nextTry({ due_at_ms: dueAtMs, given_up_at_ms: givenUpAtMs }: MailState): Html | null {
	if (dueAtMs !== null) return ui.timeTag(dueAtMs);
	return givenUpAtMs === null ? null : html`none: given up ${ui.timeTag(givenUpAtMs)}`;
}

function backupWords({ last, failed }: KnownBackups): Html {
	const size = last === null || last.bytes === null ? "" : `, ${sayBytes(last.bytes)}`;
	const place = last === null || last.note === null ? null : html`: <span class="break">${last.note}</span>`;
	const found =
		last === null
			? html`None is known. <code>ringback backup</code> makes one, and other programs report theirs with <code>ringback record-backup</code>.`
			: html`${ui.timeTag(last.atMs)}${size}${place}`;
	return failed === null ? found : html`${found}<br>The one of ${ui.timeTag(failed.atMs)} failed.`;
}

function schemaWords({ version, known }: WatchedState["schema"]): string {
	return version === known
		? `Version ${version}, which is current`
		: `Version ${version}; this program knows ${known}`;
}

// Returns the tabs of the pages about the installation.

export function systemTabs(active: "status" | "resend" | "audit" | "personal data"): Html {
	return ui.tabs("System", [
		{ label: "Status", href: SYSTEM_PATH, isActive: active === "status" },
		{ label: "Failed callbacks", href: RESEND_PATH, isActive: active === "resend" },
		{ label: "Audit log", href: AUDIT_PATH, isActive: active === "audit" },
		{ label: "Personal data", href: PERSONAL_DATA_PATH, isActive: active === "personal data" },
	]);
}
