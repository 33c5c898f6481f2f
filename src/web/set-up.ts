// The guided set-up of a network: which steps there are, and which of them are done. Each is done by what is so, and not
// because somebody pressed a button: whoever leaves finds it as it stands.

import { isLoopbackHost, isPublicHost } from "../domain/warning.ts";

export const SET_UP_STEPS = ["network", "programme", "address", "mail"] as const;
export type SetUpStep = (typeof SET_UP_STEPS)[number];

export interface SetUpFacts {
	name: string | null;
	isBrandChosen: boolean;
	address: AddressState;
	isMailTested: boolean;
	hasProgramme: boolean;
}

/** How the address that links begin with stands to the one that the browser came by. */
export type AddressState =
	| "right"
	/** PUBLIC_URL is not set, and nobody but this machine is there. */
	| "own-machine"
	| "unset"
	/** The browser came by another name. */
	| "other"
	/** Not HTTPS, on a public name. */
	| "plain";

export function findDoneSteps(facts: SetUpFacts): ReadonlySet<SetUpStep> {
	const isDone: Readonly<Record<SetUpStep, boolean>> = {
		network: facts.name !== null && facts.isBrandChosen,
		address: facts.address === "right",
		mail: facts.isMailTested,
		programme: facts.hasProgramme,
	};
	return new Set(SET_UP_STEPS.filter((step) => isDone[step]));
}

/** `host`: the request's own, as its header has it. */
export function judgePublicUrl(publicUrl: string | null, host: string | undefined): AddressState {
	if (publicUrl === null) return host !== undefined && isLoopbackHost(host) ? "own-machine" : "unset";
	const { protocol, host: ownHost } = new URL(publicUrl);
	if (host !== undefined && host.toLowerCase() !== ownHost) return "other";
	return protocol !== "https:" && isPublicHost(ownHost) ? "plain" : "right";
}
