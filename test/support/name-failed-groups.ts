// The runner names a process that several test files share by a file that is gone after the run. Within the runner this
// says at its end which files they are, also of a process that was killed and could say nothing itself.

import { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { isTestGroup, nameTestFiles } from "./test-group.ts";

export function nameFailedGroups(): void {
	const begun = new Set<ChildProcess>();
	subscribe("child_process", (message) => {
		const { process: child } = Object(message);
		if (child instanceof ChildProcess) begun.add(child);
	});
	process.once("exit", () => {
		for (const { exitCode, signalCode, spawnargs } of begun) {
			const path = spawnargs.find(isTestGroup);
			if (path === undefined || exitCode === 0) continue;
			console.error(`Failed (${signalCode ?? exitCode ?? "not ended"}): ${nameTestFiles(path)}.`);
		}
	});
}
