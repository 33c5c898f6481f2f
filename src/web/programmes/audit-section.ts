// Who did what in a programme, the newest first, with people, orders, keys and files by their names.

import { html } from "hono/html";
import type { AuditAction } from "../../store/audit.ts";
import type { ListedAuditEntry } from "../../store/audit-list.ts";
import type { AuditSubjects } from "../../store/audit-subjects.ts";
import type { Programme } from "../../store/programmes.ts";
import { emptyState, section } from "../components/blocks.ts";
import { dataTable, type Pages, pager } from "../components/lists.ts";
import { emailText, timeTag } from "../components/text.ts";
import { originOf } from "../conversions/bulk-job-page.ts";
import type { Content, Html } from "../html.ts";
import { bulkJobPath, conversionPath, deliveryPath, keysPath, peoplePath } from "../paths.ts";

const ACTION_WORDS: Readonly<Record<AuditAction, string>> = {
	"person.invited": "Person invited",
	"person.joined": "Person joined",
	"person.role_changed": "Role changed",
	"person.signed_in": "Signed in",
	"person.signed_out": "Signed out",
	"person.removed": "Person removed",
	"account.changed": "Own settings changed",
	"address.asked": "New email address requested",
	"address.changed": "Email address changed",
	"access.ended": "Access ended",
	"link.withdrawn": "Link withdrawn",
	"network.changed": "Network changed",
	"password.changed": "Password changed",
	"password.reset_asked": "Password link requested",
	"password.link_made": "Password link created",
	"password.reset": "New password chosen",
	"sessions.revoked": "Sessions ended",
	"authenticator.turned_on": "Authenticator turned on",
	"authenticator.turned_off": "Authenticator turned off",
	"authenticator.backup_code_used": "Backup code used",
	"import.prepared": "File uploaded for import",
	"import.started": "Import started",
	"import.stopped": "Import stopped",
	"import.discarded": "Import discarded",
	"import.finished": "Import finished",
	"person.imported": "Person imported",
	"programme.created": "Programme created",
	"programme.changed": "Programme changed",
	"key.issued": "API key issued",
	"key.renamed": "API key renamed",
	"key.revoked": "API key revoked",
	"secret.prepared": "Signing secret prepared",
	"secret.activated": "Signing secret activated",
	"secret.discarded": "Prepared signing secret discarded",
	"secret.ended": "Old signing secret ended",
	"postback_url.saved": "Postback URL saved",
	"postback_url.removed": "Postback URL removed",
	"conversion.decided": "Conversion decided",
	"conversions.decided": "Conversions decided",
	"decisions.prepared": "Decisions prepared",
	"decisions.discarded": "Decisions discarded",
	"conversion.test_sent": "Test conversion sent",
	"delivery.resent": "Callback sent again",
	"deliveries.resent": "Callbacks sent again",
	"delivery.sent_now": "Waiting callback sent now",
	"deliveries.sent_now": "Waiting callbacks sent now",
};

export const AUDIT_ACTIONS = Object.keys(ACTION_WORDS) as AuditAction[];

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

/** Entries of later versions read as well: "postback_url.saved" as "Postback url saved". */
export function sayAction(action: string): string {
	if (Object.hasOwn(ACTION_WORDS, action)) return ACTION_WORDS[action as AuditAction];
	const words = action.replace(/[._]/g, " ");
	return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
