"""Trains a network on the tables that `zeitnot-datagen` made. One command, interruptible and resumable.

Usage: python train.py TABLE_FOLDER RUN_FOLDER [--blocks 4 --channels 32 --positions 12e6 --processes 2 …]

The learning rate rises over the first steps, stays, and falls nearly to zero over the last `--decay` of `--positions`; a
stopped run goes on where it was, also with another `--positions`. Where a machine is shared, `--until` says when to be
done: what is left of the schedule when training begins or goes on is spread over the time up to then. RUN_FOLDER gets
`checkpoint.pt` and `log.jsonl`. With `--init` a new run begins with a network that `network_file.py` wrote. Told to stop (SIGTERM), it
saves first.
"""

import argparse
import json
import os
import signal
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor

import losses
import network_file
import table
from network import Network
from optimizer import Optimizers

WARMUP_STEPS = 200
GRADIENT_NORM = 5.0
LOG_EVERY_STEPS = 100
#: The processes wait for each other while one measures or gets little of the machine.
PATIENCE = timedelta(days=30)
#: Positions that batch norm's statistics are made of where a run begins with a network file.
NORM_POSITIONS = 1024


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--positions", type=float, default=12e6, help="how many to train on, in all")
    parser.add_argument("--until", type=float, help="Unix time at which to be done, in seconds")
    parser.add_argument("--init", type=Path, help="network file (.pb.gz) to begin with")
    parser.add_argument("--teacher-share", type=float, default=0.5, help="share of the teacher's in each batch")
    parser.add_argument(
        "--alternative-share", type=float, default=0.0, help="share of the teacher's positions that make way for the one after "
        "another candidate of the teacher's, of which the value is learnt",
    )  # fmt: skip
    parser.add_argument("--decay", type=float, default=0.3, help="last part of the positions, in which the rate falls")
    parser.add_argument("--batch", type=int, default=256, help="positions per step and process")
    parser.add_argument("--processes", type=int, default=2, help="on a CPU, one thread each")
    parser.add_argument("--device", default="cpu", help="cpu or cuda; a GPU is worked by one process")
    parser.add_argument("--adam-lr", type=float, default=2e-3)
    parser.add_argument("--muon-lr", type=float, default=0.02)
    parser.add_argument("--average-steps", type=float, default=400, help="the file's weights are averaged over about so many steps")
    parser.add_argument("--fp32", action="store_true", help="don't compute in bfloat16")
    parser.add_argument("--measure-every", type=float, default=500e3, help="positions between measurements")
    parser.add_argument("--policy-teacher", type=Path, help="network file (.pb.gz) whose policy is learnt beside the labels")
    parser.add_argument("--policy-teacher-share", type=float, default=0.5, help="its share of the policy's target")
    parser.add_argument("--port", type=int, default=29511)
    arguments = parser.parse_args()
    if arguments.device != "cpu":
        arguments.processes = 1
    return arguments


class Trainer:
    """One process's share of a run."""

    def __init__(self, arguments: argparse.Namespace, rank: int, parent: int) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.arguments, self.rank, self.world = arguments, rank, arguments.processes
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
        self.table = table.Table(arguments.table, arguments.device)
        flags = self.table.labels()
        self.sampler = table.Sampler(flags, arguments.teacher_share, arguments.batch, rank, self.world)
        held_out = {
            "tournament": table.held_out(flags, 0, 12000),
            "teacher": table.held_out(flags, table.TEACHER, 6000),
        }
        # A few games may have nothing to measure on.
        self.held_out = {name: rows for name, rows in held_out.items() if len(rows)}
        self.policy_teacher = self.new_policy_teacher()
        self.network = self.new_network()
        self.checkpoint = arguments.run / "checkpoint.pt"
        if arguments.init and not self.checkpoint.exists():
            self.begin_with(arguments.init, flags)
        self.optimizers = Optimizers(self.network, arguments.adam_lr, arguments.muon_lr)
        self.average = {name: value.clone() for name, value in self.network.state_dict().items()}
        self.step = self.seen = 0
        self.seconds = 0.0
        # The share of the schedule that is left, which the processes agree on, and what it was when this process began.
        self.left = self.left_at_start = 1.0
        self.started = time.time()
        # A worker that is told to stop, or whose parent was, finishes its step, and the first one saves.
        self.parent = parent
        self.told_to_stop = False
        # What the processes have agreed on: one that stopped alone would leave the others waiting for its gradients.
        self.stopping = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)
        if self.checkpoint.exists():
            self.load()

    def new_network(self) -> Network:
        """A network of the run's size, on its device."""
        network = Network(self.arguments.blocks, self.arguments.channels)
        return network.to(self.arguments.device, memory_format=torch.channels_last)

    def new_policy_teacher(self) -> losses.PolicyTeacher | None:
        """The network whose policy is learnt beside the labels, if there is one."""
        arguments = self.arguments
        if arguments.policy_teacher is None:
            return None
        return losses.PolicyTeacher(arguments.policy_teacher, arguments.policy_teacher_share, arguments.device)

    def begin_with(self, file: Path, flags: np.ndarray) -> None:
        """Takes the weights of a network file; all processes make batch norm's statistics of the same positions."""
        indices, _ = next(table.Sampler(flags, self.arguments.teacher_share, NORM_POSITIONS, 0, 1).batches(0))
        network_file.read_into(self.network, file, losses.planes_tensor(self.table.batch(indices)))

    def stop(self, *_: object) -> None:
        """The handler of signals."""
        self.told_to_stop = True

    def load(self) -> None:
        state = torch.load(self.checkpoint, self.arguments.device, weights_only=False)
        self.network.load_state_dict(state["network"])
        self.optimizers.load_state_dict(state["optimizers"])
        self.average = state["average"]
        self.step, self.seen, self.seconds = state["step"], state["seen"], state["seconds"]
        # Another length of the run makes another schedule, also of one that was over.
        is_longer = state.get("positions", self.arguments.positions) != self.arguments.positions or state["left"] <= 0
        self.left = self.left_at_start = 1 - self.seen / self.arguments.positions if is_longer else state["left"]

    def save(self) -> None:
        state = {
            "blocks": self.arguments.blocks,
            "channels": self.arguments.channels,
            "network": self.network.state_dict(),
            "average": self.average,
            "optimizers": self.optimizers.state_dict(),
            "step": self.step,
            "seen": self.seen,
            "positions": self.arguments.positions,
            "seconds": self.seconds,
            "left": self.left,
        }
        unfinished = self.checkpoint.with_suffix(".tmp")
        torch.save(state, unfinished)
        unfinished.replace(self.checkpoint)

    def rate(self) -> float:
        """The share of the full learning rate at this step."""
        return min(1.0, (self.step + 1) / WARMUP_STEPS, max(0.02, self.left / self.arguments.decay))

    def schedule_left(self) -> float:
        """The share of the schedule that is left by the positions seen, or by the clock if that is less."""
        left = 1 - self.seen / self.arguments.positions
        until = self.arguments.until
        if until is None:
            return left
        return min(left, self.left_at_start * (until - time.time()) / (until - self.started))

    def train_step(self, indices: np.ndarray, rng: np.random.Generator) -> losses.Outputs:
        no_history = rng.random(len(indices)) < table.NO_HISTORY_SHARE
        mirror = rng.random(len(indices)) < 0.5
        share = self.arguments.alternative_share
        # Below the share a number from 0 to 1, above it a negative one.
        lots = rng.random(len(indices))
        alternative = np.where(lots < share, lots / max(share, 1e-9), -1).astype(np.float32)
        batch = self.table.batch(indices, no_history, mirror, alternative)
        bf16 = not self.arguments.fp32
        out = losses.evaluate_batch(self.network, batch, bf16, self.policy_teacher)
        self.network.zero_grad()
        out.total().backward()
        self.share_gradients()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), GRADIENT_NORM)
        self.optimizers.step(self.rate())
        self.step += 1
        self.seen += len(indices) * self.world
        if self.rank == 0:
            self.update_average()
        return out

    def share_gradients(self) -> None:
        """Averages the gradients over the processes, which also agree whether to stop and what is left of the schedule."""
        told_to_stop = self.told_to_stop or os.getppid() != self.parent
        self.left = self.schedule_left()
        if self.world == 1:
            self.stopping = told_to_stop
            return
        gradients = [p.grad for p in self.network.parameters() if p.grad is not None]
        facts = torch.tensor([float(told_to_stop), self.left])
        flat: Tensor = torch.cat([g.flatten() for g in gradients] + [facts])
        dist.all_reduce(flat)
        self.stopping = bool(flat[-2] > 0)
        flat /= self.world
        self.left = float(flat[-1])
        for gradient, part in zip(gradients, flat[:-2].split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    @torch.no_grad()
    def update_average(self) -> None:
        weight = 1 / min(self.arguments.average_steps, 1 + self.step / 4)
        current = self.network.state_dict()
        real = [name for name, value in current.items() if value.dtype.is_floating_point]
        torch._foreach_lerp_([self.average[name] for name in real], [current[name] for name in real], weight)
        for name in current.keys() - real:
            self.average[name].copy_(current[name])

    def report(self, **facts: float | str) -> None:
        line = {"step": self.step, "positions": self.seen, "seconds": round(self.seconds), **facts}
        text = json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in line.items()})
        print(text, flush=True)
        with open(self.arguments.run / "log.jsonl", "a") as log:
            log.write(text + "\n")

    def measure(self) -> None:
        """Measures the averaged network on held-out positions."""
        averaged = self.new_network()
        averaged.load_state_dict(self.average)
        for name, rows in self.held_out.items():
            self.report(held_out=name, **losses.measure(averaged, self.table, rows))

    def run(self) -> None:
        next_measurement = self.seen + self.arguments.measure_every
        sums, count = torch.zeros(3, device=self.arguments.device), 0
        for indices, rng in self.sampler.batches(self.step):
            if self.left <= 0 or self.stopping:
                break
            began = time.monotonic()
            out = self.train_step(indices, rng)
            self.seconds += time.monotonic() - began
            if self.rank > 0:
                continue
            # They are read once in many steps, so that a GPU need not wait for it.
            sums += out.means().detach()
            count += 1
            if self.step % LOG_EVERY_STEPS == 0:
                policy, value, moves_left = (sums / count).tolist()
                sums, count = torch.zeros_like(sums), 0
                self.report(rate=self.rate(), policy_loss=policy, value_loss=value, moves_left_loss=moves_left)
            if self.seen >= next_measurement:
                next_measurement += self.arguments.measure_every
                self.save()
                self.measure()
        if self.rank == 0:
            self.save()
            if not self.stopping:
                self.measure()


def work(rank: int, arguments: argparse.Namespace, parent: int) -> None:
    """The main function of one process, which ends when the process `parent` does."""
    if arguments.processes > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(arguments.port))
        dist.init_process_group("gloo", rank=rank, world_size=arguments.processes, timeout=PATIENCE)
    Trainer(arguments, rank, parent).run()
    if arguments.processes > 1:
        dist.barrier()
        dist.destroy_process_group()


def main() -> None:
    arguments = parse_arguments()
    arguments.run.mkdir(parents=True, exist_ok=True)
    if arguments.processes == 1:
        work(0, arguments, os.getppid())
    else:
        mp.spawn(work, (arguments, os.getpid()), arguments.processes)


if __name__ == "__main__":
    main()
