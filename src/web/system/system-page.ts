// /system: how the installation does, for staff: what to put right, and behind it processes, queue, chores, mail and room.

import { html } from "hono/html";
import { sayBytes } from "../../domain/bytes.ts";
import { sumEngines } from "../../domain/process.ts";
import { findSystemWarnings, lastMailFailure } from "../../domain/system-warning.ts";
import type { Warning } from "../../domain/warning.ts";
import { MAX_COUNTED_MAILS } from "../../store/figures.ts";
import { type GivenUpMail, listGivenUpMails } from "../../store/mail-queue.ts";
import type { Store } from "../../store/store.ts";
import { readSystem, type SystemReading } from "../../store/system.ts";
import { facts, message, padded, pageHeader, section, statStrip } from "../components/blocks.ts";
import { linkButton } from "../components/forms.ts";
import { dataTable } from "../components/lists.ts";
import { count, emailText, timeTag } from "../components/text.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import type { Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { NETWORK_PATH, OPERATIONS_PATH } from "../paths.ts";
import { choreTable, processTable } from "./system-tables.ts";
import { systemTabs } from "./system-tabs.ts";

const GIVEN_UP_SHOWN = 20;

export async function showSystem(c: WebContext, deps: WebDeps): Promise<Response> {
	const { store, clock, system } = deps;
	const nowMs = clock.nowMs();
	const reading = await readSystem(store, nowMs);
	const disk = await system.readDisk();
	const warnings = [...findSystemWarnings({ ...reading, disk }, nowMs), ...c.get("warnings")];
	const body = html`${pageHeader({
		title: "System",
		hint: `Ringback ${system.version} on ${store.kind === "sqlite" ? "SQLite" : "PostgreSQL"}. This page was answered by process ${system.instance}.`,
		actions: linkButton({ label: "Operations guide", href: OPERATIONS_PATH }),
	})}${systemTabs("status")}${warningSection(warnings)}${queueSection(reading, nowMs)}${section({
		id: "processes",
		title: "Processes",
		hint: "Each process reports every 20 seconds. One that was not stopped cleanly is listed for an hour.",
		body: processTable(reading.processes, nowMs),
	})}${section({
		id: "chores",
		title: "Chores",
		hint: "Periodic work, as all processes together have done it.",
		body: choreTable(reading.chores, nowMs),
	})}${mailSection(deps, reading)}${givenUpSection(await listGivenUpMails(store.db, GIVEN_UP_SHOWN))}${section(
		{
			id: "database",
			title: "Database",
			body: padded(
				facts([
					["Schema", schemaWords(reading.schema)],
					["Size", sayBytes(reading.figures.databaseBytes)],
					[
						"Free room",
						disk === null
							? "Ask the database server: its disk cannot be seen from here."
							: `${sayBytes(disk.freeBytes)} of ${sayBytes(disk.sizeBytes)}`,
					],
					["Last backup", backupWords(store.kind, reading.backedUpAtMs)],
				]),
			),
		},
	)}`;
	return answerPage(c, { title: "System", active: "system", body });
}

function warningSection(warnings: readonly Warning[]): Html {
	return section({
		id: "warnings",
		title: "Problems",
		body: padded(
			warnings.length === 0
				? message("good", "No problems found.")
				: html`<ul class="points">${warnings.map(({ title, text }) => html`<li><strong>${title}.</strong> ${text}</li>`)}</ul>`,
		),
	});
}

function queueSection({ processes, figures }: SystemReading, nowMs: number): Html {
	const engines = sumEngines(processes, nowMs);
	const { queued, failing } = figures;
	return section({
		id: "queue",
		title: "Callbacks",
		body: statStrip([
			{ label: "In the queue", value: count(queued), hint: "due now or later, retries included" },
			{
				label: "Oldest due",
				value:
					engines === null
						? "not known"
						: engines.oldestDueAtMs === null
							? "none"
							: timeTag(engines.oldestDueAtMs),
				hint:
					engines === null
						? "no process delivers"
						: `${count(engines.programmesDue)} programmes have something due`,
			},
			{ label: "In hand", value: count(engines?.inHand ?? 0), hint: "being sent, or next" },
			{
				label: "Programmes failing",
				value: count(failing.shops.length + failing.more),
				hint: "listed under Programmes",
			},
		]),
	});
}

function mailSection({ mailer }: WebDeps, { figures, processes }: SystemReading): Html {
	const { waitingMails, unmailedNotices } = figures;
	const failure = lastMailFailure(processes);
	return section({
		id: "mail",
		title: "Mail",
		actions: linkButton({ label: "Send a test mail", href: `${NETWORK_PATH}#mail` }),
		body: padded(
			facts([
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
						: html`${timeTag(failure.atMs)} <span class="break">${failure.reason}</span>`,
				],
			]),
		),
	});
}

/** None while every mail went out. */
function givenUpSection(mails: readonly GivenUpMail[]): Html | null {
	if (mails.length === 0) return null;
	return section({
		id: "given-up",
		title: "Mails that were given up",
		hint: "Of the last seven days, the newest first. They are not tried again: correct the address, or tell the person in another way.",
		body: dataTable<GivenUpMail>({
			caption: "Mails that were given up, the newest first",
			rows: mails,
			stacks: true,
			empty: null,
			columns: [
				{ title: "To", namesRow: true, cell: ({ to_address }) => emailText(to_address) },
				{ title: "Subject", cell: ({ subject }) => html`<span class="break">${subject}</span>` },
				{
					title: "Given up",
					cell: ({ given_up_at_ms }) => (given_up_at_ms === null ? null : timeTag(given_up_at_ms)),
				},
				{
					title: "What the mail server said",
					cell: ({ refusal }) => html`<span class="break">${refusal}</span>`,
				},
			],
		}),
	});
}

function upTo(number: number): string {
	return number < MAX_COUNTED_MAILS ? count(number) : `${count(MAX_COUNTED_MAILS)}+`;
}

function backupWords(kind: Store["kind"], backedUpAtMs: number | null): Html | string {
	if (backedUpAtMs !== null) return html`${timeTag(backedUpAtMs)} by <code>ringback backup</code>`;
	if (kind !== "sqlite") return "Ask whoever runs the database server: PostgreSQL's own programs make it.";
	return html`None by <code>ringback backup</code> yet.`;
}

function schemaWords({ version, known }: SystemReading["schema"]): string {
	return version === known
		? `Version ${version}, which is current`
		: `Version ${version}; this program knows ${known}`;
}
