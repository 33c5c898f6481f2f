// Saving and removing a programme's Postback URL, with the same verdict as every delivery will give.

import { type Result, succeed } from "../domain/fault.ts";
import { judgeHost, parsePostbackUrl } from "../domain/postback-url.ts";
import type { AddressPolicy, Log, LookUp, Transport } from "../ports.ts";
import { noteAudit } from "../store/audit.ts";
import {
	findProgramme,
	lockProgramme,
	presentUrl,
	removeEndpoint,
	setEndpoint,
} from "../store/programmes.ts";
import type { AccountsDeps } from "./deps.ts";
import { unknownProgramme } from "./programmes.ts";

export interface PostbackUrlDeps extends Pick<AccountsDeps, "store" | "clock"> {
	transport: Pick<Transport, "lookUp">;
	addressPolicy: AddressPolicy;
	/** What a name stands for is told here and to nobody else: owners must not map the network from the page. */
	log: Log;
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
	const addresses = lookUp?.ok === true ? lookUp.addresses : [];
	const judged = judgeHost(url, addresses, deps.addressPolicy.allowedPrivateRanges);
	if (!judged.ok) {
		logRefusal(deps.log, programmePublicId, url.hostname, judged.fault.code, lookUp);
		return judged;
	}
	const programme = await findProgramme(deps.store.db, programmePublicId);
	if (programme === undefined) return unknownProgramme(programmePublicId);
	const nowMs = deps.clock.nowMs();
	const replaced = await deps.store.transact(async (trx) => {
		// Two who save the same at the same moment: one of them changes something.
		await lockProgramme(trx, programme.id);
		const before = (await presentUrl(trx, programme.id)) ?? null;
		await setEndpoint(trx, programme.id, url.href, nowMs);
		if (before === url.href) return before;
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
		await lockProgramme(trx, programme.id);
		const before = await presentUrl(trx, programme.id);
		const count = await removeEndpoint(trx, programme.id, nowMs);
		if (before === undefined) return count;
		const detail = `${count} pending deliveries cancelled`;
		const note = { personId, programmeId: programme.id, action: "postback_url.removed", detail } as const;
		await noteAudit(trx, note, nowMs);
		return count;
	});
	store.announceChange(programme.id);
	return succeed(cancelled);
}

function logRefusal(
	log: Log,
	programme: string,
	host: string,
	code: string,
	lookUp: LookUp | undefined,
): void {
	const answer = lookUp?.ok === false ? { dns: lookUp.code } : { addresses: lookUp?.addresses ?? [host] };
	log.warn({ programme, host, code, ...answer }, "a Postback URL was not saved");
}
