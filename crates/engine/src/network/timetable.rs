//! Computes when a simulated device returns each batch, without a clock. `simulated` waits until then, and a
//! search in virtual time counts.

use std::collections::VecDeque;
use std::time::Duration;

/// Of a simulated device, and in virtual time of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DevicePace {
    /// A batch's way to the device and back.
    pub latency: Duration,
    pub(crate) per_position: Duration,
    /// Bus time per position. Meanwhile the device computes other batches.
    pub copy: Duration,
    /// Batches are padded to a multiple, at least 1, …
    pub step: u32,
    /// … or to the next of these sizes.
    pub padded_to: &'static [usize],
    /// Batches in flight. Further ones wait until one is back.
    pub(crate) queues: usize,
    /// Equal devices, each with such queues, among which batches are divided.
    pub(crate) devices: usize,
    /// The host's descent to a leaf and its backup.
    pub(crate) host_per_visit: Duration,
}

/// Such batches gave the best moves of simulated devices in the first half second, as multiples of the
/// positions that are computed while one travels.
const BATCH_PER_LATENCY: f64 = 4.0;
/// A batch that takes a quarter longer than one position hardly takes longer.
const CHEAP_SHARE: f64 = 0.25;

/// The preferred and the cheap batch of a device, if a batch takes `latency` and each position as long as
/// `per_latency` times less. Throughput hardly grows beyond batches of `most`.
pub(crate) fn batches_of_device(per_latency: f64, most: usize) -> (usize, usize) {
    // Measured paces differ a little from start to start.
    let preferred = ((BATCH_PER_LATENCY * per_latency).min(most as f64) as usize).next_power_of_two();
    let cheap = (CHEAP_SHARE * per_latency) as usize;
    (preferred.clamp(1, most), cheap.clamp(1, most))
}

impl DevicePace {
    fn padded(&self, positions: u32) -> u32 {
        let size = self.padded_to.iter().find(|size| **size >= positions as usize);
        size.map_or_else(|| positions.next_multiple_of(self.step), |size| *size as u32)
    }

    /// Positions computed while a batch travels: enough to keep the device busy with two batches.
    pub(crate) fn positions_per_latency(&self) -> u128 {
        let positions = self.latency.as_nanos() / (self.per_position + self.copy).as_nanos().max(1);
        positions.next_multiple_of(self.step.into())
    }
}

/// The most positions in a piece of a batch that is divided evenly among `devices`, at most a `preferred`
/// batch unless there is one.
pub(crate) fn piece_size(positions: usize, devices: usize, preferred: usize) -> usize {
    let even = positions.div_ceil(devices.max(1)).max(1);
    if devices > 1 {
        even.min(preferred.max(1))
    } else {
        even
    }
}

#[derive(Debug)]
pub(crate) struct Timetable {
    pace: DevicePace,
    devices: Vec<DeviceLoad>,
    submitted: Duration,
    pub(crate) positions: u64,
}

#[derive(Clone, Debug, Default)]
struct DeviceLoad {
    /// When each batch in flight returns, soonest first, at most `queues`.
    on_their_way: VecDeque<Duration>,
    /// When the bus has copied all submitted batches.
    bus_free_at: Duration,
    /// When the device has computed them.
    free_at: Duration,
}

impl Timetable {
    pub fn new(pace: DevicePace) -> Timetable {
        let devices = vec![DeviceLoad::default(); pace.devices];
        Timetable {
            pace,
            devices,
            submitted: Duration::ZERO,
            positions: 0,
        }
    }

    /// Returns when the answers are back.
    pub(crate) fn submit(&mut self, now: Duration, positions: u32) -> Duration {
        let preferred = self.pace.positions_per_latency() as usize;
        let size = piece_size(positions as usize, self.devices.len(), preferred) as u32;
        let mut left = positions;
        let mut back = now;
        while left > 0 {
            let piece = left.min(size);
            left -= piece;
            back = back.max(self.submit_piece(now, piece));
        }
        back
    }

    /// Sends positions to the device with the least to do.
    ///
    /// Half of the latency is the way there, half the way back. They arrive in the order of submission.
    fn submit_piece(&mut self, now: Duration, positions: u32) -> Duration {
        let DevicePace {
            latency,
            per_position,
            copy,
            queues,
            ..
        } = self.pace;
        let Some(device) = self.devices.iter_mut().min_by_key(|device| device.free_at) else {
            return now;
        };
        let queue_free_at = if device.on_their_way.len() < queues {
            None
        } else {
            device.on_their_way.pop_front()
        };
        let start = queue_free_at.map_or(now, |free| free.max(now));
        device.bus_free_at = device.bus_free_at.max(start + latency / 2) + copy * positions;
        let work = per_position * self.pace.padded(positions);
        device.free_at = device.free_at.max(device.bus_free_at) + work;
        self.submitted += work;
        self.positions += u64::from(positions);
        let back = device.free_at + (latency - latency / 2);
        device.on_their_way.push_back(back);
        back
    }

    /// Computing time until `now`, the mean over devices, exact up to half a latency: the work ahead is
    /// subtracted as if it had no gaps.
    pub(crate) fn busy_until(&self, now: Duration) -> Duration {
        let ahead: Duration = self
            .devices
            .iter()
            .map(|device| device.free_at.saturating_sub(now))
            .sum();
        self.submitted.saturating_sub(ahead) / self.devices.len().max(1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const PACE: DevicePace = DevicePace {
        latency: Duration::from_millis(2),
        per_position: MS,
        copy: Duration::ZERO,
        step: 1,
        padded_to: &[],
        queues: usize::MAX,
        devices: 1,
        host_per_visit: Duration::ZERO,
    };

    #[test]
    fn a_lone_batch_takes_latency_and_computing_time() {
        let mut device = Timetable::new(PACE);
        assert_eq!(device.submit(Duration::ZERO, 3), 5 * MS);
        assert_eq!(device.submit(5 * MS, 3), 10 * MS);
        assert_eq!(device.busy_until(10 * MS), 6 * MS);
    }

    #[test]
    fn batches_queue_for_the_device_but_travel_side_by_side() {
        let mut device = Timetable::new(PACE);
        let back: Vec<_> = (0..4).map(|_| device.submit(Duration::ZERO, 10)).collect();
        assert_eq!(back, [12 * MS, 22 * MS, 32 * MS, 42 * MS]);
        assert_eq!(device.busy_until(21 * MS), 20 * MS);
        assert_eq!(device.busy_until(100 * MS), 40 * MS);
    }

    #[test]
    fn a_batch_waits_for_a_free_queue() {
        let back = |queues| {
            let mut device = Timetable::new(DevicePace { queues, ..PACE });
            [0; 3].map(|now| device.submit(now * MS, 1))
        };
        assert_eq!(back(1), [3 * MS, 6 * MS, 9 * MS]);
        assert_eq!(back(2), [3 * MS, 4 * MS, 6 * MS]);
    }

    #[test]
    fn a_step_costs_the_same_up_to_its_end() {
        let back =
            |positions| Timetable::new(DevicePace { step: 32, ..PACE }).submit(Duration::ZERO, positions);
        assert_eq!([1, 32, 33].map(back), [34 * MS, 34 * MS, 66 * MS]);
    }

    #[test]
    fn fixed_sizes_cost_what_they_are_filled_up_to() {
        let padded_to = &[4, 32];
        let back =
            |positions| Timetable::new(DevicePace { padded_to, ..PACE }).submit(Duration::ZERO, positions);
        assert_eq!([1, 4, 5, 33].map(back), [6 * MS, 6 * MS, 34 * MS, 35 * MS]);
    }

    #[test]
    fn one_batch_is_copied_while_another_is_computed() {
        let mut device = Timetable::new(DevicePace { copy: MS, ..PACE });
        assert_eq!([0; 2].map(|now| device.submit(now * MS, 10)), [22 * MS, 32 * MS]);
    }

    #[test]
    fn two_devices_compute_side_by_side() {
        let latency = 20 * MS;
        let mut devices = Timetable::new(DevicePace {
            devices: 2,
            latency,
            ..PACE
        });
        let back: Vec<_> = [20, 20, 30]
            .map(|positions| devices.submit(Duration::ZERO, positions))
            .into();
        assert_eq!(back, [30 * MS, 40 * MS, 55 * MS]);
        assert_eq!(devices.busy_until(45 * MS), 35 * MS);
    }
}
