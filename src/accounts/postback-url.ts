// Saving and removing a programme's Postback URL, with the same verdict as every delivery will give.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { judgeHost, parsePostbackUrl } from "../domain/postback-url.ts";
import type { AddressPolicy, Transport } from "../ports.ts";
import { noteAudit } from "../store/audit.ts";
import { findProgramme, presentUrl, removeEndpoint, setEndpoint } from "../store/programmes.ts";
import type { AccountsDeps } from "./deps.ts";
import { unknownProgramme } from "./programmes.ts";

export interface PostbackUrlDeps extends Pick<AccountsDeps, "store" | "clock"> {
	transport: Pick<Transport, "lookUp">;
	addressPolicy: AddressPolicy;
}

export interface SavedPostbackUrl {
	url: string;
	/** What was saved before: its pending retries now go to the new one. */
	replaced: string | null;
}

export async function savePostbackUrl(
	deps: PostbackUrlDeps,
	programmePublicId: string,
	text: string,
	personId: number | null = null,
): Promise<Result<SavedPostbackUrl>> {
	const parsed = parsePostbackUrl(text);
	if (!parsed.ok) return parsed;
	const url = parsed.value;
	const lookUp = url.isLiteral ? undefined : await deps.transport.lookUp(url.hostname);
	if (lookUp?.ok === false) {
		return refuse(
			"postback_url_unresolvable",
			`${url.hostname} has no address now (${lookUp.code}). Check the spelling, or save again when its DNS works.`,
			"postbackUrl",
		);
	}
	const judged = judgeHost(url, lookUp?.addresses ?? [], deps.addressPolicy.allowedPrivateRanges);
	if (!judged.ok) return judged;
	const programme = await findProgramme(deps.store.db, programmePublicId);
	if (programme === undefined) return unknownProgramme(programmePublicId);
	const nowMs = deps.clock.nowMs();
	const replaced = await deps.store.transact(async (trx) => {
		const before = (await presentUrl(trx, programme.id)) ?? null;
		await setEndpoint(trx, programme.id, url.href, nowMs);
		// Without the query: shops put tokens there.
		const subject = url.href.replace(/\?.*$/s, "?…");
		const note = { personId, programmeId: programme.id, action: "postback_url.saved", subject } as const;
		await noteAudit(trx, note, nowMs);
		return before;
	});
	deps.store.announceChange(programme.id);
	return succeed({ url: url.href, replaced });
}

/** Resolves to how many pending deliveries were cancelled. */
export async function removePostbackUrl(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	personId: number | null = null,
): Promise<Result<number>> {
	const programme = await findProgramme(store.db, programmePublicId);
	if (programme === undefined) return unknownProgramme(programmePublicId);
	const nowMs = clock.nowMs();
	const cancelled = await store.transact(async (trx) => {
		const count = await removeEndpoint(trx, programme.id, nowMs);
		const detail = `${count} pending deliveries cancelled`;
		const note = { personId, programmeId: programme.id, action: "postback_url.removed", detail } as const;
		await noteAudit(trx, note, nowMs);
		return count;
	});
	store.announceChange(programme.id);
	return succeed(cancelled);
}
