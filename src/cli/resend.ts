// `ringback resend failed`: sends callbacks again that failed within a span, over all programmes or one. It shows what
// would be sent, and with --yes sends it.

import { refuse, succeed } from "../domain/fault.ts";
import { isoTime, SECOND_MS, utcSecond } from "../domain/time.ts";
import { readWrittenTime } from "../jobs/written-time.ts";
import { resendFailed } from "../programmes/resend.ts";
import { type FailedProgramme, listFailedProgrammes } from "../store/queries/deliveries.ts";
import { workplaceCommand } from "./command.ts";

const PROGRESS_EVERY_MS = 2 * SECOND_MS;

export const resendCommand = workplaceCommand({
	name: "resend failed",
	summary:
		"Sends callbacks again that failed within a span of time, in all programmes with a Postback URL. Shows what would be sent, and sends it with --yes. Nothing that is pending is sent twice.",
	options: {
		from: { type: "string", value: "TIME", help: 'such as "2026-03-01 12:00", UTC', isRequired: true },
		to: { type: "string", value: "TIME", help: "now, if left out" },
		programme: { type: "string", value: "ID", help: "only of this programme, prg_…" },
		yes: { type: "boolean", help: "send them; otherwise only what would be sent is shown" },
	},
	async work(workplace, options, screen) {
		const { store, clock } = workplace;
		const fromMs = readWrittenTime(options.text("from"));
		const untilMs = options.text("to") === "" ? clock.nowMs() : readWrittenTime(options.text("to"));
		if (fromMs === null || untilMs === null)
			return refuse("invalid_field", '--from and --to take a time such as "2026-03-01 12:00".');
		const span = { fromMs, untilMs };
		const found = await listFailedProgrammes(store.db, span, options.text("programme") || undefined);
		const count = found.reduce((sum, { failed }) => sum + failed, 0);
		const isAsked = options.flag("yes");
		let toldAtMs = clock.nowMs();
		const order = { programmeIds: isAsked ? found.map(({ id }) => id) : [], maker: null };
		const sent = await resendFailed(workplace, order, span, (resent) => {
			if (clock.nowMs() - toldAtMs >= PROGRESS_EVERY_MS) {
				toldAtMs = clock.nowMs();
				screen.error(`${resent} of ${count} callbacks are sent again`);
			}
			return true;
		});
		if (!sent.ok) return sent;
		const end = isAsked
			? `${sent.value} are being sent again.`
			: "Nothing was sent yet: run it again with --yes.";
		return succeed({
			json: { applied: isAsked, failed: count, resent: sent.value, programmes: found.map(programmeJson) },
			text: [
				`${count} callbacks of ${found.length} programmes failed then.`,
				...found.map(describeProgramme),
				...(count === 0 ? [] : [end]),
			].join("\n"),
		});
	},
});

function programmeJson({ publicId, name, failed, oldestAtMs, newestAtMs }: FailedProgramme): object {
	return { id: publicId, name, failed, oldestAt: isoTime(oldestAtMs), newestAt: isoTime(newestAtMs) };
}

function describeProgramme({ name, publicId, failed, oldestAtMs, newestAtMs }: FailedProgramme): string {
	return `  ${failed}  ${name} (${publicId}), from ${utcSecond(oldestAtMs)} to ${utcSecond(newestAtMs)}`;
}
