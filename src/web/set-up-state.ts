// How far the set-up of the network is, as the person before the page finds it.

import { findFirstProgramme } from "../store/queries/programmes.ts";
import type { SetUpProgress } from "./document.ts";
import type { WebContext, WebDeps } from "./page.ts";
import { type AddressState, findDoneSteps, judgePublicUrl, SET_UP_STEPS, type SetUpStep } from "./set-up.ts";

export interface SetUpState {
	done: ReadonlySet<SetUpStep>;
	address: AddressState;
	/** What the browser calls us. */
	host: string | undefined;
	/** Of the first programme; null while there is none. */
	programmeId: string | null;
}

export async function readSetUp(
	c: WebContext,
	{ store, publicUrl, isPublicUrlSet }: Pick<WebDeps, "store" | "publicUrl" | "isPublicUrlSet">,
): Promise<SetUpState> {
	const { name, isBrandChosen, mailTestedAtMs } = c.get("network");
	const host = c.req.header("host");
	const address = judgePublicUrl(isPublicUrlSet ? publicUrl : null, host);
	const programmeId = (await findFirstProgramme(store.db)) ?? null;
	const done = findDoneSteps({
		name,
		isBrandChosen,
		address,
		isMailTested: mailTestedAtMs !== null,
		hasProgramme: programmeId !== null,
	});
	return { done, address, host, programmeId };
}

export function countSteps({ done }: SetUpState): SetUpProgress {
	return { done: done.size, steps: SET_UP_STEPS.length };
}
