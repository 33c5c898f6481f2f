// Shows the page /system/audit with the audit log of the whole installation. The log can be searched by person,
// action, programme and period, and exported as a CSV file.

import { originOf } from "#modules/jobs/web/job-page.ts";
import { CSV_BATCH_ROWS, type CsvColumns, csvFile } from "../../conversions/csv-file.ts";
import { STORED_ACTIONS, sayAction } from "../../domain/action.ts";
import { foldMailAddress } from "../../domain/display-name.ts";
import { isPartnerId } from "../../domain/id.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import { dayIn } from "../../domain/zone-day.ts";
import {
	type AuditFilter,
	type AuditSubjects,
	type ListedAuditEntry,
	listAudit,
	readAllAudit,
	readAuditSubjects,
} from "../../store/queries/audit-list.ts";
import { findPersonByEmail } from "../../store/queries/people.ts";
import { findProgramme } from "../../store/queries/programmes.ts";
import { ask, withProblems } from "../ask.ts";
import { answerCsv } from "../conversions/csv-answer.ts";
import { choice, day, search, spanOfDays } from "../filters.ts";
import { readRows, showList } from "../list.ts";
import { answerPage, type PageDeps, type WebContext, type WebDeps } from "../page.ts";
import {
	AUDIT_EXPORT_PATH,
	AUDIT_PATH,
	bulkJobPath,
	conversionPath,
	deliveryPath,
	earningsPath,
	keysPath,
	peoplePath,
	settingsPath,
} from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { systemTabs } from "./system-page.ts";

const ACTIONS = STORED_ACTIONS.toSorted((one, other) => (sayAction(one) < sayAction(other) ? -1 : 1));

const FILTERS = {
	person: search("Person's email"),
	action: choice("What was done", "Anything", ACTIONS, sayAction),
	programme: search("Programme ID", "prg_…"),
	from: day("First day"),
	to: day("Last day"),
};

export async function showAudit(c: WebContext, deps: WebDeps): Promise<Response> {
	const { asked, filter } = await askAudit(c, deps);
	const page = await readRows(deps, asked, "audit log", (at) => listAudit(deps.store.reader, filter, at));
	const subjects = await readAuditSubjects(deps.store.db, page.rows);
	const zone = c.get("network").timeZone;
	const list = showList<ListedAuditEntry>({
		asked,
		page,
		noun: "entry",
		plural: "entries",
		caption: "Audit entries, the newest first",
		isTight: true,
		namesZone: true,
		columns: [
			{ title: "When", cell: ({ at_ms }) => ui.timeTag(at_ms, zone) },
			{ title: "Who", cell: whoCell },
			{ title: "What", namesRow: true, cell: ({ action }) => sayAction(action) },
			{ title: "Programme", cell: programmeCell },
			{ title: "Details", cell: (entry) => auditDetails(entry, subjects) },
		],
		none: { title: "No entries yet", text: "Everything that people and programs change is listed here." },
	});
	const exported = ui.linkButton({ label: "Export CSV", href: asked.href({}, AUDIT_EXPORT_PATH) });
	return answerPage(c, {
		title: "Audit log",
		active: "system",
		status: asked.status,
		body: [
			ui.pageHeader({
				title: "Audit log",
				hint: "Who did what, the newest first. We store the IP address of each sign-in and of each change to an account.",
				actions: asked.isUnderstood ? exported : null,
			}),
			systemTabs("audit"),
			ui.section({ id: "audit", title: "Entries", body: list }),
		],
	});
}

export async function exportAudit(c: WebContext, deps: PageDeps): Promise<Response> {
	const { asked, filter } = await askAudit(c, deps);
	// An unfiltered file could be mistaken for a filtered one. If a filter is invalid, the page is shown instead and
	// names that filter.
	if (!asked.isUnderstood) return showAudit(c, deps);
	const { store, clock } = deps;
	const { timeZone: zone } = c.get("network");
	const lines = csvFile(COLUMNS, readAllAudit(store.reader, filter, CSV_BATCH_ROWS), {
		separator: ",",
		zone,
	});
	return answerCsv(c, deps, `audit-${dayIn(clock.nowMs(), zone)}.csv`, lines);
}

const COLUMNS: CsvColumns<ListedAuditEntry> = [
	["at", ({ at_ms }) => at_ms, "time"],
	["person", ({ email }) => email ?? ""],
	["action", ({ action }) => action],
	["programme", ({ programme }) => programme ?? ""],
	["programmeName", ({ programmeName }) => programmeName ?? ""],
	["subject", ({ subject }) => subject ?? ""],
	["detail", ({ detail }) => detail ?? ""],
	["address", ({ address }) => address ?? ""],
	["token", ({ tokenName }) => tokenName ?? ""],
];

/** Reads the filters from the address, and finds the person and the programme that they name. */
async function askAudit(c: WebContext, { store: { db } }: WebDeps) {
	const asked = ask(c, { path: AUDIT_PATH, filters: FILTERS });
	const { person, programme, action } = asked.query;
	const foundPerson = person === undefined ? undefined : await findPersonByEmail(db, foldMailAddress(person));
	const foundProgramme = programme === undefined ? undefined : await findProgramme(db, programme);
	const filter: AuditFilter = {
		action,
		personId: foundPerson?.id,
		programmeId: foundProgramme?.id,
		...spanOfDays(asked.query, c.get("network").timeZone),
	};
	const problems = {
		...(person !== undefined && foundPerson === undefined
			? { person: "There is no account with this address. Enter the whole address." }
			: {}),
		...(programme !== undefined && foundProgramme === undefined
			? { programme: "There is no such programme. Copy the ID from its settings." }
			: {}),
	};
	return { asked: withProblems(asked, problems), filter };
}

function whoCell({ email, name, address, tokenName }: ListedAuditEntry): Html {
	const from = [
		address === null ? null : html`<span class="secondary">from ${address}</span>`,
		tokenName === null ? null : html`<span class="secondary break">with the API token ${tokenName}</span>`,
	];
	if (email === null) return html`<span class="faint">command line or service</span>${from}`;
	if (name === null || name === "") return html`<span class="who">${ui.emailText(email)}</span>${from}`;
	return html`<span class="who">${name}</span><span class="secondary">${ui.emailText(email)}</span>${from}`;
}

function programmeCell({ programme, programmeName }: ListedAuditEntry): Content {
	return programme === null
		? null
		: html`<a class="break" href="${settingsPath(programme)}">${programmeName}</a>`;
}

/** Shows the thing or person that the entry is about, and the details. */
function auditDetails(entry: ListedAuditEntry, subjects: AuditSubjects): Html {
	const { subject, detail, programme } = entry;
	const words = (parts: Content) => html`<span class="break">${parts}</span>`;
	// The detail of an entry about a key already contains the key's name.
	if (subject?.startsWith("key_") && programme !== null) {
		return words(html`<a href="${keysPath(programme)}#keys">${detail ?? subject}</a>`);
	}
	const about = subject === null ? null : subjectOf(subject, entry, subjects);
	return words(about === null || detail === null ? [about, detail] : [about, " · ", detail]);
}

/**
 * Shows the name of the thing or person that the entry is about, with a link to its page if there is one. If the thing
 * no longer exists, its id is shown.
 */
function subjectOf(
	subject: string,
	{ programme, programmeName }: ListedAuditEntry,
	subjects: AuditSubjects,
): Content {
	if (isPartnerId(subject)) return html`<a href="${earningsPath(subject)}">${subject}</a>`;
	const person = subjects.people.get(subject);
	const who = person === undefined || person === "" ? subject : `${person} (${subject})`;
	if (programme === null) return who;
	if (subject === programme) return programmeName;
	const orderId = subjects.orders.get(subject);
	if (orderId !== undefined) {
		return html`<a href="${conversionPath(programme, subject)}">order ${showOrderId(orderId)}</a>`;
	}
	const callback = subjects.callbacks.get(subject);
	if (callback !== undefined) {
		const { event, orderId: order } = callback;
		return html`<a href="${deliveryPath(programme, subject)}">${event} for order ${showOrderId(order)}</a>`;
	}
	const job = subjects.jobs.get(subject);
	if (job !== undefined) return html`<a href="${bulkJobPath(programme, subject)}">${originOf(job)}</a>`;
	return person === undefined ? subject : html`<a href="${peoplePath(programme)}">${who}</a>`;
}
