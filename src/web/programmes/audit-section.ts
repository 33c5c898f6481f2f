// Who did what in a programme, the newest first, with people, orders, keys and files by their names.

import { sayAction } from "../../domain/action.ts";
import type { AuditSubjects, ListedAuditEntry } from "../../store/queries/audit-list.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { originOf } from "../conversions/bulk-job-page.ts";
import { type Pages, pager } from "../filter-query.ts";
import { bulkJobPath, conversionPath, deliveryPath, keysPath, peoplePath } from "../paths.ts";
import { type Content, dataTable, emailText, emptyState, type Html, html, section, timeTag } from "../ui.ts";

export interface AuditView {
	programme: Programme;
	entries: readonly ListedAuditEntry[];
	subjects: AuditSubjects;
	pages: Pages;
}

export function auditSection(view: AuditView): Html {
	return section({
		id: "audit",
		title: "Who did what",
		hint: "The newest first. Only staff see it.",
		body: html`${dataTable<ListedAuditEntry>({
			caption: "What was done, the newest first",
			rows: view.entries,
			stacks: true,
			empty: emptyState({
				title: "Nothing yet",
				text: "Changes, keys, decisions and invitations show up here.",
			}),
			columns: [
				{ title: "When", cell: ({ at_ms }) => timeTag(at_ms) },
				{ title: "Who", cell: auditActor },
				{ title: "What", namesRow: true, cell: ({ action }) => sayAction(action) },
				{ title: "Details", cell: (entry) => auditDetails(entry, view.subjects, view.programme) },
			],
		})}${pager(view.pages)}`,
	});
}

/** Who did it, of a list of entries. */
export function auditActor({ email, name }: Pick<ListedAuditEntry, "email" | "name">): Html {
	if (email === null) return html`<span class="faint">command line or service</span>`;
	if (name === null || name === "") return emailText(email);
	return html`${name}<span class="secondary">${emailText(email)}</span>`;
}

type Entry = Pick<ListedAuditEntry, "subject" | "detail">;
type EntryProgramme = Pick<Programme, "public_id" | "name">;

/** What it was done to, and how. */
export function auditDetails(
	{ subject, detail }: Entry,
	subjects: AuditSubjects,
	/** Null for what belongs to none. */
	programme: EntryProgramme | null,
): Html {
	const words = (parts: Content) => html`<span class="break">${parts}</span>`;
	// Its name is in the detail: see domain/key-label.
	if (subject?.startsWith("key_") && programme !== null) {
		return words(html`<a href="${keysPath(programme.public_id)}#keys">${detail ?? subject}</a>`);
	}
	if (subject === null && detail === null) return html``;
	const about = subject === null ? null : subjectOf(subject, subjects, programme);
	return words(about === null || detail === null ? [about, detail] : [about, " · ", detail]);
}

/** By its name, and with a link where it has a page; as it was noted where nothing is known of it any more. */
function subjectOf(subject: string, subjects: AuditSubjects, programme: EntryProgramme | null): Content {
	const person = subjects.people.get(subject);
	const who = person === undefined || person === "" ? subject : `${person} (${subject})`;
	if (programme === null) return who;
	const { public_id: programmeId, name } = programme;
	if (subject === programmeId) return name;
	const orderId = subjects.orders.get(subject);
	if (orderId !== undefined) {
		return html`<a href="${conversionPath(programmeId, subject)}">order ${orderId}</a>`;
	}
	const callback = subjects.callbacks.get(subject);
	if (callback !== undefined) {
		const { event, orderId: order } = callback;
		return html`<a href="${deliveryPath(programmeId, subject)}">${event} for order ${order}</a>`;
	}
	const job = subjects.jobs.get(subject);
	if (job !== undefined) return html`<a href="${bulkJobPath(programmeId, subject)}">${originOf(job)}</a>`;
	return person === undefined ? subject : html`<a href="${peoplePath(programmeId)}">${who}</a>`;
}
