// The service processes of a round: real ones, started, asked to stop and killed. One that ends by itself is a
// broken promise.

import type { Home, Running, Settings } from "../support/command-home.ts";
import type { Role } from "./plan.ts";

export type Processes = ReturnType<typeof createProcesses>;

interface Member {
	role: Role;
	running: Running | undefined;
	url: string | undefined;
	isDoomed: boolean;
	/** What those before it said. */
	earlierLog: string;
}

const LOG_TAIL_CHARACTERS = 3_000;

/** `settingsOf` makes a member's environment. */
export function createProcesses(
	home: Home,
	roles: readonly Role[],
	settingsOf: (member: number) => Settings,
) {
	const members = roles.map((role): Member => {
		return { role, running: undefined, url: undefined, isDoomed: false, earlierLog: "" };
	});

	const counts = { starts: 0, stops: 0, kills: 0 };

	function memberAt(index: number): Member {
		const member = members[index];
		if (member === undefined) throw new RangeError(`there is no service ${index + 1}`);
		return member;
	}

	async function start(member: Member, index: number): Promise<void> {
		counts.starts++;
		member.earlierLog += member.running?.stderr ?? "";
		const settings = { ...settingsOf(index), PORT: "0", RINGBACK_ROLE: member.role };
		const running = home.start(["serve"], settings);
		Object.assign(member, { running, url: undefined, isDoomed: false });
		try {
			const [, url] = await running.said(/^Ringback listens on (\S+)$/m);
			member.url = url;
		} catch (error) {
			if (!member.isDoomed) throw error;
		}
	}

	async function kill(member: Member, politeMs: number | null): Promise<void> {
		const { running } = member;
		member.isDoomed = true;
		if (running === undefined || !running.isRunning) return;
		counts.kills++;
		if (politeMs !== null) {
			running.kill("SIGTERM");
			await new Promise((resolve) => setTimeout(resolve, politeMs));
		}
		running.kill("SIGKILL");
		const { code, signal } = await running.ended();
		// Asked politely it may have been faster than we.
		if (signal !== "SIGKILL" && !(politeMs !== null && (code === 0 || signal === "SIGTERM"))) {
			throw new Error(`a service that was to be killed ended with ${code ?? signal}`);
		}
	}

	async function stop({ running }: Member): Promise<void> {
		if (running === undefined || !running.isRunning) return;
		counts.stops++;
		running.kill("SIGTERM");
		const { code, signal } = await running.ended();
		if (code !== 0) throw new Error(`a service that was asked to stop ended with ${code ?? signal}`);
	}

	const isUp = ({ running }: Member) => running?.isRunning === true;
	const delivers = ({ role }: Member) => role !== "web";
	const takesReports = ({ role }: Member) => role !== "worker";
	function checkAlive(): void {
		const lost = members.find((member) => !isUp(member) && member.running !== undefined && !member.isDoomed);
		if (lost !== undefined) throw new Error(`a service (${lost.role}) ended by itself`);
	}

	return {
		/** One that is down. */
		start: (index: number) => start(memberAt(index), index),
		isUp: (index: number) => isUp(memberAt(index)),
		/** Asked to stop or killed, and not started since. */
		isDoomed: (index: number) => memberAt(index).isDoomed,
		/** Whether it has an engine. */
		delivers: (index: number) => delivers(memberAt(index)),
		/** As few as it takes: somebody who delivers and, while there is something to report, who takes it. */
		async startEnough(isReporting: boolean) {
			const needs = [delivers, ...(isReporting ? [takesReports] : [])];
			for (const isFit of needs) {
				if (members.some((member) => isUp(member) && isFit(member))) continue;
				const index = members.findIndex(isFit);
				const member = members[index];
				if (member === undefined) throw new Error("nobody here can do it");
				await start(member, index);
			}
		},
		/** URLs of those that take reports now. */
		doors: () =>
			members.flatMap((member) => {
				const isOpen = isUp(member) && !member.isDoomed && takesReports(member);
				return isOpen && member.url !== undefined ? [member.url] : [];
			}),
		/** URLs of all that were started, also of those that stop just now. */
		urls: () => members.flatMap(({ url }) => url ?? []),
		/** Resolves when they are gone. `politeMs`: asked to stop so long before. */
		async kill(victims: readonly number[], politeMs: number | null = null) {
			await Promise.all(victims.map((index) => kill(memberAt(index), politeMs)));
		},
		/** Asks one to stop; fails if it does not end well. */
		async stop(index: number) {
			const member = memberAt(index);
			member.isDoomed = true;
			await stop(member);
		},
		/** Asks all to stop, and fails if one does not end well. */
		async stopAll() {
			checkAlive();
			for (const member of members) member.isDoomed = true;
			await Promise.all(members.map(stop));
		},
		get isDown() {
			return !members.some(isUp);
		},
		/** How often each was done. */
		counts,
		/** Of those that run. */
		pids: () => members.filter(isUp).flatMap(({ running }) => running?.pid ?? []),
		/** Fails if one has ended that nobody ended. */
		checkAlive,
		/** How often this is in all that they said on standard error. */
		countSaid(words: string) {
			const logs = members.map(({ earlierLog, running }) => `${earlierLog}${running?.stderr ?? ""}`);
			return logs.join("\n").split(words).length - 1;
		},
		/** The end of it, for whoever reads a failure. */
		logs: () =>
			members
				.map(({ role, earlierLog, running }, index) => {
					const log = `${earlierLog}${running?.stderr ?? ""}`.slice(-LOG_TAIL_CHARACTERS);
					return `--- service ${index + 1} (${role}):\n${log}`;
				})
				.join("\n"),
	};
}
