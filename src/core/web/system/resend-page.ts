// Shows the page /system/resend, on which staff send failed callbacks again. They choose a period, and one programme
// or all of them. A preview shows how many callbacks would be sent.

import { minuteMs } from "../../domain/zone-day.ts";
import { isKnownOwner } from "../../programmes/receivers.ts";
import { resendFailed } from "../../programmes/resend.ts";
import { type FailedReceiver, listFailedReceivers } from "../../store/queries/deliveries.ts";
import { batchMessage } from "../conversion-ui.ts";
import { readTextFields } from "../form.ts";
import { actorOf, answerPage, leadTo, type WebContext, type WebDeps } from "../page.ts";
import { integrationPath, partnerCallbacksPath, RESEND_PATH, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { countOf, type Html, html } from "../ui.ts";
import { systemTabs } from "./system-page.ts";

const FIELDS = ["from", "to", "programme"] as const;
type Typed = Readonly<Record<(typeof FIELDS)[number], string>>;

const PROGRAMMES_SHOWN = 100;
const BAD_TIME = "Enter a day and a time, such as 2026-03-01 02:30.";
/** Latest time that a Date can have. */
const LAST_MS = 8_640_000_000_000_000;

const NOT_UNDERSTOOD = ui.emptyState({
	title: "This span of time is not understood",
	text: "Correct the field marked above.",
});

export async function showResend(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = Object.fromEntries(FIELDS.map((name) => [name, c.req.query(name) ?? ""])) as Typed;
	const nowMs = deps.clock.nowMs();
	const zone = c.get("network").timeZone;
	const problems = await findProblems(deps, typed, zone);
	const isUnderstood = Object.keys(problems).length === 0;
	const { found } = await findFailed(deps, typed, zone, nowMs);
	const time = (name: "from" | "to", label: string) =>
		ui.textField({
			name,
			label: `${label} (${zone})`,
			type: "datetime-local",
			value: typed[name],
			isRequired: name === "from",
			error: problems[name],
		});
	const body = html`${ui.pageHeader({
		title: "Failed callbacks",
		hint: "Send callbacks again that failed while something was wrong, in all programmes and for all partners with a URL. Those that were set aside are left out.",
	})}${systemTabs("resend")}${ui.section({
		id: "failed",
		title: "Failed within a span of time",
		body: [
			html`<form method="get" action="${RESEND_PATH}" class="filter-bar" aria-label="Choose the failed callbacks">${time("from", "Failed since")}${time("to", "Until")}${ui.textField(
				{
					name: "programme",
					label: "Programme ID",
					value: typed.programme,
					error: problems.programme,
				},
			)}<div class="row">${ui.button({ label: "Show" })}</div></form>`,
			typed.from === ""
				? null
				: isUnderstood
					? preview(found, { ...typed, asOfMs: String(nowMs) }, zone)
					: NOT_UNDERSTOOD,
		],
	})}`;
	return answerPage(c, {
		title: "Failed callbacks",
		active: "system",
		status: isUnderstood ? 200 : 422,
		body,
	});
}

/** Returns messages about invalid input, by field. Returns none for an empty form. */
async function findProblems(
	{ store }: WebDeps,
	{ from, to, programme }: Typed,
	zone: string,
): Promise<Partial<Typed>> {
	const [fromMs, toMs] = [minuteMs(from, zone), minuteMs(to, zone)];
	const id = programme.trim();
	const isReversed = fromMs !== null && toMs !== null && toMs <= fromMs;
	const isUnknown = id !== "" && !(await isKnownOwner(store.db, id));
	return {
		...(from !== "" && fromMs === null ? { from: BAD_TIME } : {}),
		...(to !== "" && toMs === null ? { to: BAD_TIME } : {}),
		...(isReversed ? { to: "Choose a later time than the first one." } : {}),
		...(isUnknown
			? { programme: "There is no programme or partner with this ID. Copy it from its page." }
			: {}),
	};
}

export async function resendAll(c: WebContext, deps: WebDeps): Promise<Response> {
	const { asOfMs, ...typed } = await readTextFields(c, [...FIELDS, "asOfMs"]);
	// The period ends at the time of the preview, so a callback that is resent and fails again is not sent a second
	// time.
	const untilMs = Math.min(Number(asOfMs) || 0, deps.clock.nowMs());
	const { found, span } = await findFailed(deps, typed, c.get("network").timeZone, untilMs);
	const order = { receivers: found, actor: actorOf(c) };
	const sent = await resendFailed(deps, order, span);
	const path = withQuery(RESEND_PATH, typed);
	if (!sent.ok) return leadTo(c, path, sent.fault.detail, "bad");
	const left = countFailed(found) - sent.value.count;
	const [tone, text] = batchMessage(
		sent.value,
		"being sent again",
		"Nothing was left to be sent again.",
		left,
	);
	return leadTo(c, path, text, tone);
}

/** Finds the programmes with callbacks that failed in the period. Finds none if a time is invalid. */
async function findFailed({ store }: WebDeps, { from, to, programme }: Typed, zone: string, nowMs: number) {
	const fromMs = minuteMs(from, zone) ?? LAST_MS;
	const untilMs = to === "" ? nowMs : (minuteMs(to, zone) ?? 0);
	const span = { fromMs, untilMs: Math.min(untilMs, nowMs) };
	return { span, found: await listFailedReceivers(store.reader, span, programme.trim() || undefined) };
}

function countFailed(programmes: readonly FailedReceiver[]): number {
	return programmes.reduce((sum, { failed }) => sum + failed, 0);
}

function preview(
	found: readonly FailedReceiver[],
	hidden: Readonly<Record<string, string>>,
	zone: string,
): Html {
	const what = `${countOf(countFailed(found), "callback")} of ${countOf(found.length, "receiver")}`;
	const button = ui.buttonForm({
		action: RESEND_PATH,
		hidden,
		label: `Send ${what} again`,
		tone: "primary",
		confirm: `Send ${what} again? Receivers ignore events they have already processed.`,
	});
	return html`${found.length === 0 ? null : ui.padded(button)}${ui.dataTable<FailedReceiver>({
		caption: `Programmes and partners with callbacks that failed then, the first ${PROGRAMMES_SHOWN}`,
		rows: found.slice(0, PROGRAMMES_SHOWN),
		stacks: true,
		empty: ui.emptyState({ title: "No callback failed then", text: "Choose another time or programme." }),
		columns: [
			{
				title: "Programme or partner",
				namesRow: true,
				cell: ({ kind, publicId, name }) =>
					html`<a href="${kind === "shop" ? integrationPath(publicId) : partnerCallbacksPath(publicId)}">${name}</a>${kind === "shop" ? null : html`<span class="secondary">Partner</span>`}`,
			},
			{ title: "Failed", cell: ({ failed }) => ui.count(failed) },
			{ title: "Oldest", cell: ({ oldestAtMs }) => ui.timeTag(oldestAtMs, zone) },
			{ title: "Newest", cell: ({ newestAtMs }) => ui.timeTag(newestAtMs, zone) },
		],
	})}${found.length === 0 ? null : ui.zoneNote(zone)}`;
}
