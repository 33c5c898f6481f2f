// The service processes of a round. They are real processes that are started, stopped and killed. A process
// that ends by itself breaks a promise.

import type { Home, Running, Settings } from "../support/command-home.ts";
import type { Role } from "./plan.ts";

export type Processes = ReturnType<typeof createProcesses>;

interface Member {
	role: Role;
	running: Running | undefined;
	url: string | undefined;
	isDoomed: boolean;
	/** Output of earlier processes with the same number. */
	earlierLog: string;
}

const LOG_TAIL_CHARACTERS = 3_000;

/** Creates the processes of a round. `settingsOf` returns the environment of a process. */
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
		// A process that was asked to stop may end before it is killed.
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
		/** Starts a process that is not running. */
		start: (index: number) => start(memberAt(index), index),
		isUp: (index: number) => isUp(memberAt(index)),
		/** Returns whether the process was stopped or killed and not started since. */
		isDoomed: (index: number) => memberAt(index).isDoomed,
		/** Returns whether the process delivers callbacks. */
		delivers: (index: number) => delivers(memberAt(index)),
		/**
		 * Starts as few processes as needed: one that delivers and, while there are reports left, one that
		 * accepts them.
		 */
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
		/** Returns the URLs of the processes that accept reports now. */
		doors: () =>
			members.flatMap((member) => {
				const isOpen = isUp(member) && !member.isDoomed && takesReports(member);
				return isOpen && member.url !== undefined ? [member.url] : [];
			}),
		/** Returns the URLs of all started processes, including those that are stopping. */
		urls: () => members.flatMap(({ url }) => url ?? []),
		/**
		 * Kills processes and resolves when they have ended. `politeMs` is the time between the request to stop
		 * and the kill.
		 */
		async kill(victims: readonly number[], politeMs: number | null = null) {
			await Promise.all(victims.map((index) => kill(memberAt(index), politeMs)));
		},
		/** Stops one process cleanly. Fails if its exit code is not 0. */
		async stop(index: number) {
			const member = memberAt(index);
			member.isDoomed = true;
			await stop(member);
		},
		/** Stops all processes cleanly. Fails if an exit code is not 0. */
		async stopAll() {
			checkAlive();
			for (const member of members) member.isDoomed = true;
			await Promise.all(members.map(stop));
		},
		get isDown() {
			return !members.some(isUp);
		},
		/** Number of starts, stops and kills. */
		counts,
		/** Returns the process ids of the running processes. */
		pids: () => members.filter(isUp).flatMap(({ running }) => running?.pid ?? []),
		/** Throws if a process has ended by itself. */
		checkAlive,
		/** Counts occurrences of a text in the log of all processes. */
		countLogged(words: string) {
			const logs = members.map(({ earlierLog, running }) => `${earlierLog}${running?.stderr ?? ""}`);
			return logs.join("\n").split(words).length - 1;
		},
		/** Returns the last part of the output, for the reader of a failure. */
		logs: () =>
			members
				.map(({ role, earlierLog, running }, index) => {
					const log = `${earlierLog}${running?.stderr ?? ""}`.slice(-LOG_TAIL_CHARACTERS);
					return `--- service ${index + 1} (${role}):\n${log}`;
				})
				.join("\n"),
	};
}
