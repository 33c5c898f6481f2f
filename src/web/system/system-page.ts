// /system: how the installation does, for staff: what to put right, which is where a chore that is late and a process that
// has fallen silent stand; and behind it queue, mail and room.

import { sayBytes } from "../../domain/bytes.ts";
import { isSilent, sumEngines } from "../../domain/process.ts";
import type { Warning } from "../../domain/warning.ts";
import { type Figures, MAX_COUNTED_MAILS, readFigures } from "../../store/queries/figures.ts";
import { listUnsentMails, type MailState } from "../../store/queries/mail-queue.ts";
import type { Store } from "../../store/store.ts";
import { lastMailFailure, type WatchedState } from "../../watch/checks.ts";
import { answerPage, type WebContext, type WebDeps } from "../page.ts";
import { AUDIT_PATH, NETWORK_PATH, OPERATIONS_PATH, SYSTEM_PATH } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Html, html } from "../ui.ts";

const UNSENT_SHOWN = 20;

export async function showSystem(c: WebContext, deps: WebDeps): Promise<Response> {
	const { store, clock, system, installation } = deps;
	await installation.read();
	const state = installation.state();
	const { schema, disk, backedUpAtMs } = state;
	const figures = await readFigures(store, clock.nowMs());
	const warnings = installation.warningsFor({ host: c.req.header("host") });
	const body = html`${ui.pageHeader({
		title: "System",
		hint: `Ringback ${system.version} on ${store.kind === "sqlite" ? "SQLite" : "PostgreSQL"}. This page was answered by process ${system.instance}.`,
		actions: ui.linkButton({ label: "Operations guide", href: OPERATIONS_PATH }),
	})}${systemTabs("status")}${warningSection(warnings)}${queueSection(state, figures)}${mailSection(deps, state, figures)}${unsentSection(await listUnsentMails(store.db, UNSENT_SHOWN))}${ui.section(
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
							? "Ask the database server: its disk cannot be seen from here."
							: `${sayBytes(disk.freeBytes)} of ${sayBytes(disk.sizeBytes)}`,
					],
					["Last backup", backupWords(store.kind, backedUpAtMs)],
				]),
			),
		},
	)}`;
	return answerPage(c, { title: "System", active: "system", body });
}

function warningSection(warnings: readonly Warning[]): Html {
	return ui.section({
		id: "warnings",
		title: "Problems",
		body: ui.padded(
			warnings.length === 0
				? ui.message("good", "No problems found.")
				: html`<ul class="points">${warnings.map(({ title, text }) => html`<li><strong>${title}.</strong> ${text}</li>`)}</ul>`,
		),
	});
}

function queueSection({ processes, nowMs }: WatchedState, { queued, failing }: Figures): Html {
	const engines = sumEngines(processes, nowMs);
	const running = processes.filter((record) => !isSilent(record, nowMs));
	return ui.section({
		id: "queue",
		title: "Callbacks and processes",
		body: ui.statStrip([
			{ label: "In the queue", value: ui.count(queued), hint: "due now or later, retries included" },
			{
				label: "Oldest due",
				value:
					engines === null
						? "not known"
						: engines.oldestDueAtMs === null
							? "none"
							: ui.timeTag(engines.oldestDueAtMs),
				hint:
					engines === null
						? "no process delivers"
						: `${ui.count(engines.programmesDue)} programmes have something due`,
			},
			{ label: "Being sent", value: ui.count(engines?.inHand ?? 0), hint: "or next" },
			{
				label: "Programmes failing",
				value: ui.count(failing.shops.length + failing.more),
				hint: "listed under Programmes",
			},
			{
				label: "Processes",
				value: ui.count(running.length),
				hint: [...new Set(running.map(({ version }) => `version ${version}`))].join(", "),
			},
		]),
	});
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
				["Mails that wait", upTo(waitingMails)],
				mailer === null
					? [
							"Notices not mailed",
							`${upTo(unmailedNotices)}, because mail is off. They are on each programme's page.`,
						]
					: ["Notices to be mailed", upTo(unmailedNotices)],
				[
					"Last failure",
					failure === null
						? "None since the last mail that was taken."
						: html`${ui.timeTag(failure.atMs)} <span class="break">${failure.reason}</span>`,
				],
			]),
		),
	});
}

/** None while every mail went out. */
function unsentSection(mails: readonly MailState[]): Html | null {
	if (mails.length === 0) return null;
	return ui.section({
		id: "unsent",
		title: "Mails that were not taken",
		hint: "Of the last seven days. For those that were given up, correct the address, or tell the person in another way.",
		body: ui.dataTable<MailState>({
			caption: "Mails that the mail server did not take, those that are tried again first",
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

function upTo(number: number): string {
	return number < MAX_COUNTED_MAILS ? ui.count(number) : `${ui.count(MAX_COUNTED_MAILS)}+`;
}

function backupWords(kind: Store["kind"], backedUpAtMs: number | null): Html | string {
	if (backedUpAtMs !== null) return html`${ui.timeTag(backedUpAtMs)} by <code>ringback backup</code>`;
	if (kind !== "sqlite") return "Ask whoever runs the database server: PostgreSQL's own programs make it.";
	return html`None by <code>ringback backup</code> yet.`;
}

function schemaWords({ version, known }: WatchedState["schema"]): string {
	return version === known
		? `Version ${version}, which is current`
		: `Version ${version}; this program knows ${known}`;
}

// The two pages about the installation.

export function systemTabs(active: "status" | "audit"): Html {
	return ui.tabs("System", [
		{ label: "Status", href: SYSTEM_PATH, isActive: active === "status" },
		{ label: "Audit log", href: AUDIT_PATH, isActive: active === "audit" },
	]);
}
